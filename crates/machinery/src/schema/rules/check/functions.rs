//! The functions that rules may call, and what the simple ones answer.

use kube_cel::cel::common::ast::{CallExpr, Expr, LiteralValue, operators};

use super::Known;
use crate::schema::rules::functions::{Piece, pieces};

/// Operators, the standard library of CEL, and the libraries of Kubernetes.
const FUNCTIONS: &str = "
!_ -_ @in @insert @not_strictly_false @pairs @sorted _!=_ _%_ _&&_ _*_ _+_ _-_ _/_ _<=_ _<_ _==_ _>=_ _>_ _?._
_?_:_ _[?_] _[_] _||_ add asApproximateFloat asInteger bool bytes charAt cidr compareTo contains containsCIDR
containsIP distinct double duration dyn endsWith family find findAll first flatten format format.byte
format.date format.datetime format.dns1035Label format.dns1035LabelPrefix format.dns1123Label
format.dns1123LabelPrefix format.dns1123Subdomain format.dns1123SubdomainPrefix format.labelValue format.named
format.qualifiedName format.uri format.uuid getDate getDayOfMonth getDayOfWeek getDayOfYear getEscapedPath
getFullYear getHost getHostname getHours getMilliseconds getMinutes getMonth getPort getQuery getScheme
getSeconds hasValue indexOf int ip ip.isCanonical isCIDR isGlobalUnicast isGreaterThan isIP isInteger isLessThan
isLinkLocalMulticast isLinkLocalUnicast isLoopback isQuantity isSemver isSorted isURL isUnspecified join last
lastIndexOf lists.range lowerAscii major masked matches max min minor optional.none optional.of
optional.ofNonZeroValue optional.unwrap or orValue patch prefixLength quantity replace reverse semver
sets.contains sets.equivalent sets.intersects sign size slice sort split startsWith string strings.quote sub
substring sum timestamp trim type uint unwrapOpt upperAscii url validate value
";

/// The name of a function, with its library where the call has one: `math.abs`.
pub(in crate::schema::rules) fn full_name(call: &CallExpr) -> String {
    if let Some(target) = &call.target
        && let Expr::Ident(library) = &target.expr
    {
        let name = format!("{library}.{}", call.func_name);
        if is_known(&name) {
            return name;
        }
    }
    call.func_name.clone()
}

pub(super) fn is_known(name: &str) -> bool {
    FUNCTIONS.split_whitespace().any(|known| known == name)
}

/// Refuses a pattern that cannot be read, and one that has another number of places than there are values.
pub(super) fn check_format(call: &CallExpr) -> Result<(), String> {
    let (Some(target), [values]) = (&call.target, call.args.as_slice()) else { return Ok(()) };
    let (Expr::Literal(LiteralValue::String(pattern)), Expr::List(values)) = (&target.expr, &values.expr)
    else {
        return Ok(());
    };
    let places = pieces(pattern.inner())?.iter().filter(|piece| matches!(piece, Piece::Place(_))).count();
    let values = values.elements.len();
    if places > values {
        return Err(format!("index {values} out of range"));
    }
    if places < values {
        return Err(format!(
            "too many arguments supplied to string.format (expected {places}, got {values})"
        ));
    }
    Ok(())
}

/// What a function answers, where that is the same whatever it is given.
pub(super) fn answer<'a>(name: &str) -> Known<'a> {
    match name {
        operators::EQUALS
        | operators::NOT_EQUALS
        | operators::GREATER
        | operators::GREATER_EQUALS
        | operators::LESS
        | operators::LESS_EQUALS
        | operators::LOGICAL_AND
        | operators::LOGICAL_OR
        | operators::LOGICAL_NOT
        | operators::IN
        | operators::NOT_STRICTLY_FALSE
        | "contains"
        | "startsWith"
        | "endsWith"
        | "matches"
        | "hasValue"
        | "isSorted"
        | "isInteger"
        | "isGreaterThan"
        | "isLessThan"
        | "isURL"
        | "isQuantity"
        | "isSemver"
        | "isIP"
        | "isCIDR"
        | "bool" => Known::Truth,
        operators::NEGATE => Known::Other("sum"),
        "size" | "int" | "indexOf" | "lastIndexOf" | "asInteger" | "compareTo" | "family"
        | "prefixLength" | "major" | "minor" | "patch" | "getDate" | "getDayOfMonth" | "getDayOfWeek"
        | "getDayOfYear" | "getFullYear" | "getHours" | "getMilliseconds" | "getMinutes" | "getMonth"
        | "getSeconds" => Known::Other("int"),
        "uint" => Known::Other("uint"),
        "double" => Known::Other("double"),
        "bytes" => Known::Other("bytes"),
        "timestamp" => Known::Other("timestamp"),
        "duration" => Known::Other("duration"),
        "string" | "lowerAscii" | "upperAscii" | "trim" | "replace" | "substring" | "join" | "charAt"
        | "format" | "find" | "getScheme" | "getHost" | "getHostname" | "getPort" | "getEscapedPath" => {
            Known::Other("string")
        }
        "split" | "findAll" | "lists.range" => Known::Other("list"),
        _ => Known::Dynamic,
    }
}
