//! The functions that rules may call, and what the simple ones answer.

use kube_cel::cel::{
    IdedExpr,
    common::ast::{CallExpr, Expr, LiteralValue, operators},
};

use super::Known;
use crate::schema::rules::functions::verbs;

/// Operators, the standard library of CEL, and the libraries of Kubernetes.
const FUNCTIONS: &str = "
!_ -_ @in @insert @not_strictly_false @pairs @sorted _!=_ _%_ _&&_ _*_ _+_ _-_ _/_ _<=_ _<_ _==_ _>=_ _>_ _?._
_?_:_ _[?_] _[_] _||_ add asApproximateFloat asInteger base64.decode base64.encode bool bytes charAt cidr compareTo
contains containsCIDR containsIP distinct double duration dyn endsWith family find findAll first flatten format
format.byte format.date format.datetime format.dns1035Label format.dns1035LabelPrefix format.dns1123Label
format.dns1123LabelPrefix format.dns1123Subdomain format.dns1123SubdomainPrefix format.labelValue format.named
format.qualifiedName format.uri format.uuid getDate getDayOfMonth getDayOfWeek getDayOfYear getEscapedPath
getFullYear getHost getHostname getHours getMilliseconds getMinutes getMonth getPort getQuery getScheme
getSeconds hasValue indexOf int ip ip.isCanonical isCIDR isCIDRv4 isCIDRv6 isGlobalUnicast isGreaterThan isIP
isIPv4 isIPv6 isInteger isLessThan isLinkLocalMulticast isLinkLocalUnicast isLoopback isQuantity isSemver
isSorted isURL isUnspecified join jsonpatch.escapeKey last lastIndexOf lists.range lowerAscii major masked
matches math.abs math.bitAnd math.bitNot math.bitOr math.bitShiftLeft math.bitShiftRight math.bitXor math.ceil
math.floor math.greatest math.isFinite math.isInf math.isNaN math.least math.round math.sign math.sqrt
math.trunc max min minor optional.none optional.of optional.ofNonZeroValue optional.unwrap or orValue patch prefixLength
quantity replace reverse semver sets.contains sets.equivalent sets.intersects sign size slice sort split
startsWith string strings.quote sub substring sum timestamp trim type uint unwrapOpt upperAscii url validate value
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

/// Refuses what the engine would write otherwise than the real server, which has typographic exponents.
pub(super) fn check_format(name: &str, target: &IdedExpr) -> Result<(), String> {
    let Expr::Literal(LiteralValue::String(pattern)) = &target.expr else { return Ok(()) };
    if name == "format" && verbs(pattern.inner()).any(|verb| verb == 'e') {
        return Err("%e is not supported".to_owned());
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
        | "isURL"
        | "isQuantity"
        | "isSemver"
        | "isIP"
        | "isCIDR"
        | "bool" => Known::Truth,
        operators::SUBSTRACT
        | operators::MULTIPLY
        | operators::DIVIDE
        | operators::MODULO
        | operators::NEGATE
        | "size"
        | "int"
        | "uint"
        | "double"
        | "indexOf"
        | "lastIndexOf" => Known::Other("int"),
        "string" | "lowerAscii" | "upperAscii" | "trim" | "replace" | "substring" | "join" | "charAt"
        | "format" => Known::Other("string"),
        "split" | "findAll" | "lists.range" => Known::Other("list"),
        _ => Known::Dynamic,
    }
}
