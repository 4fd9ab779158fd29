//! Which processor a container has, by the beginning of any of its programs (ELF). Pure.

use std::fmt;

/// A processor, as Kubernetes calls it (`kubernetes.io/arch`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Machine {
    /// x86, 64 bits.
    Amd64,
    /// ARM, 64 bits.
    Arm64,
    /// POWER, little endian.
    Ppc64le,
    /// RISC-V, 64 bits.
    Riscv64,
    /// IBM Z.
    S390x,
}

/// Each with its name, its number in ELF, and how numbers are written there: 1 little, 2 big endian.
const ALL: [(Machine, &str, u16, u8); 5] = [
    (Machine::Amd64, "amd64", 62, 1),
    (Machine::Arm64, "arm64", 183, 1),
    (Machine::Ppc64le, "ppc64le", 21, 1),
    (Machine::Riscv64, "riscv64", 243, 1),
    (Machine::S390x, "s390x", 22, 2),
];

/// How many bytes of a program say for which processor it is.
pub(super) const HEAD: usize = 20;

/// What a program is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    For(Machine),
    /// For a processor that is not known here, by its number in ELF.
    ForOther(u16),
}

impl Made {
    /// Read from the beginning of a program; nothing if it is none.
    pub(super) fn read(program: &[u8]) -> Option<Self> {
        let head = program.get(..HEAD).filter(|head| head.starts_with(b"\x7fELF"))?;
        let (wide, order) = (head[4] == 2, head[5]);
        let number = match order {
            1 => u16::from_le_bytes([head[18], head[19]]),
            2 => u16::from_be_bytes([head[18], head[19]]),
            _ => return None,
        };
        let known = ALL.iter().find(|(.., of, written)| wide && *of == number && *written == order);
        Some(known.map_or(Self::ForOther(number), |(machine, ..)| Self::For(*machine)))
    }
}

impl Machine {
    /// By its name.
    pub(super) fn named(name: &str) -> Option<Self> {
        ALL.iter().find(|(_, known, ..)| *known == name).map(|(machine, ..)| *machine)
    }

    /// All names, as people are told them.
    pub(super) fn names() -> String {
        ALL.map(|(_, name, ..)| name).join(", ")
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = ALL.iter().find(|(machine, ..)| machine == self).map_or("unknown", |(_, name, ..)| name);
        formatter.write_str(name)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The beginning of a program.
    pub(crate) fn head(class: u8, order: u8, number: [u8; 2]) -> Vec<u8> {
        let mut head = [b"\x7fELF".as_slice(), &[class, order, 1], &[0; 11]].concat();
        head.extend(number);
        head
    }

    #[test]
    fn a_program_says_for_which_processor_it_is() {
        for (name, head, want) in [
            ("amd64", head(2, 1, [62, 0]), Some(Made::For(Machine::Amd64))),
            ("arm64", head(2, 1, [183, 0]), Some(Made::For(Machine::Arm64))),
            ("s390x", head(2, 2, [0, 22]), Some(Made::For(Machine::S390x))),
            ("ppc64, which is not ppc64le", head(2, 2, [0, 21]), Some(Made::ForOther(21))),
            ("x32, which is not amd64", head(1, 1, [62, 0]), Some(Made::ForOther(62))),
            ("32 bits of arm", head(1, 1, [40, 0]), Some(Made::ForOther(40))),
            ("neither order", head(2, 0, [62, 0]), None),
            ("half a head", b"\x7fELF".to_vec(), None),
            ("a script", b"#!/bin/sh\necho such and such".to_vec(), None),
        ] {
            assert_eq!(Made::read(&head), want, "{name}");
        }
        assert_eq!(Machine::named("arm64"), Some(Machine::Arm64));
        assert_eq!((Machine::named("aarch64"), Machine::Riscv64.to_string()), (None, "riscv64".to_owned()));
    }
}
