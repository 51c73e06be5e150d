//! mod_include's older expressions, and variables in texts.

use super::host::Host;
use crate::Dice;
use hostler_expr::Captures;
use hostler_expr::legacy::{LegacyExpr, Missing, substitute};
use std::borrow::Cow;

/// The input is an expression.
pub fn target(data: &[u8]) {
    let host = Host::new(Dice::of(data));
    match LegacyExpr::parse(data) {
        Ok(expr) => {
            let mut captures = Captures::new();
            for _ in 0..3 {
                let _ = expr.test(&host, &mut captures);
            }
        }
        Err(error) => assert!(error.position() <= data.len(), "{error}"),
    }
    for missing in [Missing::Drop, Missing::KeepName] {
        let _ = substitute(data, missing, |name| name.len().is_multiple_of(2).then_some(Cow::Borrowed(b"$x\\")));
    }
}
