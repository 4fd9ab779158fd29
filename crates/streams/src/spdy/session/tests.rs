//! Sessions facing each other without a connection.

use proptest::prelude::*;

use super::*;

/// Passes frames between two sessions until both are silent; gives what travelled.
fn settle(left: &mut Session, right: &mut Session) -> Vec<Frame> {
    let mut travelled = Vec::new();
    loop {
        let before = travelled.len();
        while let Some(frame) = left.next_frame() {
            travelled.push(frame.clone());
            right.receive(frame);
        }
        while let Some(frame) = right.next_frame() {
            travelled.push(frame.clone());
            left.receive(frame);
        }
        if travelled.len() == before {
            return travelled;
        }
    }
}

/// A client and a server with one accepted stream.
fn joined() -> (Session, Session, u32) {
    let (mut client, mut server) = (Session::new(Role::Client), Session::new(Role::Server));
    let id = client.open(vec![("streamtype".into(), "data".into())]).unwrap();
    settle(&mut client, &mut server);
    let (incoming, headers) = server.next_incoming().unwrap();
    assert_eq!((incoming, headers[0].1.as_str()), (id, "data"));
    server.accept(id);
    settle(&mut client, &mut server);
    assert_eq!(client.replied(id), Some(true));
    (client, server, id)
}

/// A server whose peer says nothing about flow control, and a stream that peer opened.
fn without_windows() -> (Session, u32) {
    let mut server = Session::new(Role::Server);
    server.receive(opening(1));
    server.next_incoming().unwrap();
    server.accept(1);
    while server.next_frame().is_some() {}
    (server, 1)
}

fn opening(id: u32) -> Frame {
    Frame::SynStream {
        id,
        associated: 0,
        priority: 0,
        fin: false,
        unidirectional: false,
        headers: Headers::new(),
    }
}

fn data(id: u32, length: usize) -> Frame {
    Frame::Data { id, fin: false, data: Bytes::from(vec![7; length]) }
}

fn read_all(session: &mut Session, id: u32) -> (usize, Read) {
    let mut total = 0;
    loop {
        match session.read(id, usize::MAX) {
            Read::Data(data) => total += data.len(),
            end => return (total, end),
        }
    }
}

fn write_all(session: &mut Session, id: u32) -> usize {
    let mut total = 0;
    while let Write::Accepted(length) = session.write(id, &vec![1; 100_000]) {
        total += length;
        while session.next_frame().is_some() {}
    }
    total
}

#[test]
fn each_direction_ends_by_itself() {
    let (mut client, mut server, id) = joined();
    assert_eq!(client.write(id, b"question"), Write::Accepted(8));
    client.finish(id);
    assert_eq!(client.write(id, b"more"), Write::Failed);
    settle(&mut client, &mut server);
    assert_eq!(read_all(&mut server, id), (8, Read::End));
    assert_eq!(server.write(id, b"answer"), Write::Accepted(6), "the other direction is still open");
    server.finish(id);
    settle(&mut client, &mut server);
    assert_eq!(read_all(&mut client, id), (6, Read::End));
    client.abandon(id);
    server.abandon(id);
    assert!(client.streams.is_empty() && server.streams.is_empty());
}

#[test]
fn writing_stops_at_the_window_until_the_peer_reads() {
    let (mut client, mut server, id) = joined();
    let mut sent = 0;
    loop {
        match client.write(id, &vec![1; LARGEST_CHUNK]) {
            Write::Accepted(length) => sent += length,
            other => break assert_eq!(other, Write::Pending),
        }
        settle(&mut client, &mut server);
    }
    assert_eq!(sent, STREAM_WINDOW as usize);
    assert_eq!(read_all(&mut server, id), (sent, Read::Pending));
    settle(&mut client, &mut server);
    assert_eq!(client.write(id, b"on"), Write::Accepted(2));
}

#[test]
fn a_peer_without_flow_control_is_never_kept_waiting_for_it() {
    let (mut server, id) = without_windows();
    let frames = STREAM_WINDOW as usize / LARGEST_CHUNK;
    let mut sent = 0;
    for _ in 0..frames * 8 {
        let Write::Accepted(length) = server.write(id, &vec![1; LARGEST_CHUNK]) else {
            panic!("stopped at {sent}")
        };
        sent += length;
        while let Some(frame) = server.next_frame() {
            assert!(matches!(frame, Frame::Data { .. }), "it would not know what to do with {frame:?}");
        }
    }
    assert!(sent > DEFAULT_WINDOW as usize * 8);
}

#[test]
fn without_windows_unread_data_stops_the_reading() {
    let (mut server, id) = without_windows();
    while server.wants_input() {
        server.receive(data(id, LARGEST_CHUNK));
    }
    let (read, _) = read_all(&mut server, id);
    assert!(read > STREAM_WINDOW as usize && read <= STREAM_WINDOW as usize + LARGEST_CHUNK, "{read}");
    assert!(server.wants_input());
}

#[test]
fn the_queue_to_the_connection_is_bounded() {
    let (mut server, id) = without_windows();
    let mut accepted = 0;
    while let Write::Accepted(length) = server.write(id, &vec![1; LARGEST_CHUNK]) {
        accepted += length;
    }
    assert_eq!(accepted, QUEUE_LIMIT);
    server.take_events();
    server.next_frame().unwrap();
    assert_eq!(server.take_events(), [Event::AllWritable]);
}

#[test]
fn a_peer_that_ignores_its_window_is_cut_off() {
    let mut server = Session::new(Role::Server);
    server.receive(Frame::Settings(vec![]));
    server.receive(opening(1));
    server.next_incoming().unwrap();
    server.accept(1);
    for _ in 0..=STREAM_WINDOW as usize / LARGEST_CHUNK {
        server.receive(data(1, LARGEST_CHUNK));
    }
    let frames: Vec<_> = std::iter::from_fn(|| server.next_frame()).collect();
    assert!(
        frames.contains(&Frame::RstStream { id: 1, status: ResetStatus::FLOW_CONTROL_ERROR }),
        "{frames:?}"
    );
    assert_eq!(read_all(&mut server, 1).1, Read::Failed(io::ErrorKind::ConnectionAborted));
}

#[test]
fn the_window_of_the_whole_connection_counts_too() {
    let mut server = Session::new(Role::Server);
    server.receive(Frame::Settings(vec![Setting { flags: 0, id: INITIAL_WINDOW_SIZE, value: 1 << 20 }]));
    for id in [1, 3] {
        server.receive(opening(id));
        server.next_incoming().unwrap();
        server.accept(id);
    }
    assert_eq!(write_all(&mut server, 1), DEFAULT_WINDOW as usize);
    assert_eq!(server.write(3, b"x"), Write::Pending);
    server.receive(Frame::WindowUpdate { id: 0, delta: 5 });
    assert_eq!(server.write(3, b"123456"), Write::Accepted(5));
}

#[test]
fn a_smaller_initial_window_may_leave_a_debt() {
    let mut server = Session::new(Role::Server);
    server.receive(Frame::Settings(vec![Setting { flags: 0, id: INITIAL_WINDOW_SIZE, value: 1000 }]));
    server.receive(opening(1));
    server.next_incoming().unwrap();
    server.accept(1);
    assert_eq!(write_all(&mut server, 1), 1000);
    server.receive(Frame::Settings(vec![Setting { flags: 0, id: INITIAL_WINDOW_SIZE, value: 400 }]));
    server.receive(Frame::WindowUpdate { id: 1, delta: 600 });
    assert_eq!(server.write(1, b"x"), Write::Pending, "600 were owed");
    server.receive(Frame::WindowUpdate { id: 1, delta: 1 });
    assert_eq!(server.write(1, b"xy"), Write::Accepted(1));
}

#[test]
fn a_reset_fails_both_directions_but_not_what_arrived_before() {
    let (mut client, mut server, id) = joined();
    client.write(id, b"some");
    client.reset(id, ResetStatus::CANCEL);
    settle(&mut client, &mut server);
    assert_eq!(read_all(&mut server, id), (4, Read::Failed(io::ErrorKind::ConnectionReset)));
    assert_eq!(server.write(id, b"x"), Write::Failed);
}

#[test]
fn a_cancel_after_our_end_is_an_end() {
    let (mut client, mut server, id) = joined();
    server.finish(id);
    settle(&mut client, &mut server);
    client.reset(id, ResetStatus::CANCEL);
    settle(&mut client, &mut server);
    assert_eq!(read_all(&mut server, id), (0, Read::End));
}

#[test]
fn a_stream_that_was_accepted_and_ended_at_once_was_accepted() {
    let (mut client, mut server) = (Session::new(Role::Client), Session::new(Role::Server));
    let (accepted, refused) = (client.open(Headers::new()).unwrap(), client.open(Headers::new()).unwrap());
    settle(&mut client, &mut server);
    server.accept(accepted);
    server.write(accepted, b"no");
    server.reset(accepted, ResetStatus::CANCEL);
    server.reset(refused, ResetStatus::REFUSED_STREAM);
    settle(&mut client, &mut server);
    assert_eq!((client.replied(accepted), client.replied(refused)), (Some(true), Some(false)));
    assert_eq!(read_all(&mut client, accepted), (2, Read::End));
}

#[test]
fn a_server_may_end_a_stream_with_a_cancel() {
    let (mut client, mut server, id) = joined();
    server.write(id, b"the last");
    server.reset(id, ResetStatus::CANCEL);
    settle(&mut client, &mut server);
    assert_eq!(read_all(&mut client, id), (8, Read::End));
    assert_eq!(client.write(id, b"x"), Write::Failed);
}

#[test]
fn data_for_a_dropped_stream_is_cancelled_once() {
    let (mut client, mut server, id) = joined();
    server.abandon(id);
    client.write(id, b"to nobody");
    client.write(id, b"again");
    let travelled = settle(&mut client, &mut server);
    let cancels = travelled.iter().filter(|frame| matches!(frame, Frame::RstStream { .. })).count();
    assert_eq!(cancels, 1, "{travelled:?}");
    assert!(server.streams.is_empty());
    assert_eq!(client.write(id, b"x"), Write::Failed);
}

#[test]
fn bad_stream_ids_are_answered_with_a_reset() {
    let (mut server, _) = without_windows();
    let answers = [
        (opening(2), 2, ResetStatus::PROTOCOL_ERROR),
        (opening(1), 1, ResetStatus::PROTOCOL_ERROR),
        (data(9, 1), 9, ResetStatus::INVALID_STREAM),
    ];
    for (frame, id, status) in answers {
        server.receive(frame);
        assert_eq!(server.next_frame(), Some(Frame::RstStream { id, status }));
    }
}

#[test]
fn streams_beyond_the_limit_are_refused() {
    let mut server = Session::new(Role::Server);
    let ids = (0..).map(|index| index * 2 + 1);
    for id in ids.clone().take(STREAM_LIMIT) {
        server.receive(opening(id));
    }
    assert!(!server.has_output());
    let id = ids.clone().nth(STREAM_LIMIT).unwrap();
    server.receive(opening(id));
    assert_eq!(server.next_frame(), Some(Frame::RstStream { id, status: ResetStatus::REFUSED_STREAM }));
}

#[test]
fn only_the_peers_pings_are_answered() {
    let mut server = Session::new(Role::Server);
    server.receive(Frame::Ping(2));
    assert!(!server.has_output());
    server.receive(Frame::Ping(5));
    assert_eq!(server.next_frame(), Some(Frame::Ping(5)));
    for id in 0..CONTROL_LIMIT {
        assert!(server.wants_input());
        server.receive(Frame::Ping(u32::try_from(id).unwrap() * 2 + 1));
    }
    assert!(!server.wants_input(), "a flood of pings is not answered without bound");
}

#[test]
fn after_goodbye_nothing_new_is_accepted() {
    let (mut client, mut server, id) = joined();
    client.go_away(0);
    settle(&mut client, &mut server);
    assert!(!server.expects_streams());
    assert_eq!(server.open(Headers::new()), None);
    assert_eq!(client.open(Headers::new()), None);
    assert_eq!(server.write(id, b"still"), Write::Accepted(5));
    settle(&mut client, &mut server);
    assert_eq!(read_all(&mut client, id).0, 5);
}

#[test]
fn a_lost_connection_fails_what_had_not_ended() {
    let (mut client, mut server, id) = joined();
    let second = client.open(Headers::new()).unwrap();
    settle(&mut client, &mut server);
    server.accept(second);
    settle(&mut client, &mut server);
    client.finish(id);
    settle(&mut client, &mut server);
    server.end(io::ErrorKind::UnexpectedEof);
    assert_eq!(server.read(id, 1), Read::End);
    assert_eq!(server.read(second, 1), Read::Failed(io::ErrorKind::UnexpectedEof));
    assert_eq!(server.write(id, b"x"), Write::Failed);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever order writes, reads and wire traffic happen in, every stream delivers its bytes in order and whole.
    #[test]
    fn streams_deliver_everything_in_order(steps in prop::collection::vec((0usize..3, 0u8..4, 1usize..60_000), 1..120)) {
        // Byte n of a stream is n modulo a prime, so that a slice of this is what comes next.
        let pattern: Vec<u8> = (0..251u8).cycle().take(61_000).collect();
        let (mut client, mut server) = (Session::new(Role::Client), Session::new(Role::Server));
        let ids: Vec<_> = (0..3).map(|_| client.open(Headers::new()).unwrap()).collect();
        settle(&mut client, &mut server);
        while let Some((id, _)) = server.next_incoming() {
            server.accept(id);
        }
        settle(&mut client, &mut server);
        let (mut sent, mut got) = ([0usize; 3], [0usize; 3]);
        for (stream, action, amount) in steps {
            let id = ids[stream];
            match action {
                0 | 1 => {
                    if let Write::Accepted(length) = client.write(id, &pattern[sent[stream] % 251..][..amount]) {
                        sent[stream] += length;
                    }
                }
                2 => {
                    if let Read::Data(bytes) = server.read(id, amount) {
                        prop_assert!(bytes == pattern[got[stream] % 251..][..bytes.len()]);
                        got[stream] += bytes.len();
                    }
                }
                _ => drop(settle(&mut client, &mut server)),
            }
        }
        settle(&mut client, &mut server);
        for (stream, id) in ids.into_iter().enumerate() {
            prop_assert_eq!(got[stream] + read_all(&mut server, id).0, sent[stream]);
        }
    }
}
