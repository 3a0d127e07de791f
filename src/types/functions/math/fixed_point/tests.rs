//! Each result was asked of PostgreSQL 15.

use super::*;

fn decimal(text: &str) -> Decimal {
    let scale = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    Decimal { value: text.replace('.', "").parse().unwrap(), scale: u32::try_from(scale).unwrap() }
}

fn check(function: fn(&[Decimal]) -> SqlResult<Decimal>, cases: &[(&[&str], &str)]) {
    for (arguments, expected) in cases {
        let values: Vec<Decimal> = arguments.iter().map(|a| decimal(a)).collect();
        assert_eq!(function(&values).unwrap(), decimal(expected), "{arguments:?}");
    }
}

#[test]
fn sqrt_has_postgresqls_digits() {
    check(
        sqrt,
        &[
            (&["2"], "1.414213562373095"),
            (&["2.0"], "1.414213562373095"),
            (&["144.00"], "12.000000000000000"),
            (&["0.0"], "0.000000000000000"),
            (&["12345678901234567890"], "3513641828.8201443"),
            (&["0.000001"], "0.0010000000000000000"),
            (&["0.5"], "0.70710678118654752"),
            (&["98765.4321"], "314.2696805293186"),
        ],
    );
}

#[test]
fn exp_has_postgresqls_digits() {
    check(
        exp,
        &[
            (&["1"], "2.7182818284590452"),
            (&["0.0"], "1.0000000000000000"),
            (&["-10.5"], "0.00002753644934974716"),
            (&["20"], "485165195.40979028"),
            (&["100.25"], "34516107331259239871361985995265746750923963.19"),
            (&["-0.001"], "0.9990004998333750"),
            (&["0.1"], "1.1051709180756476"),
        ],
    );
}

#[test]
fn ln_has_postgresqls_digits() {
    check(
        ln,
        &[
            (&["2"], "0.6931471805599453"),
            (&["10.5"], "2.3513752571634777"),
            (&["0.5"], "-0.6931471805599453"),
            (&["1"], "0.0000000000000000"),
            (&["1.05"], "0.048790164169432003"),
            (&["0.999"], "-0.0010005003335835335"),
            (&["123456789.123"], "18.631401767164318"),
            (&["0.0000001"], "-16.118095650958320"),
            (&["1.0000001"], "0.00000009999999500000033"),
        ],
    );
}

#[test]
fn log_has_postgresqls_digits() {
    check(
        log,
        &[
            (&["2", "64"], "6.0000000000000000"),
            (&["3", "4"], "1.2618595071429149"),
            (&["10", "0.001"], "-3.0000000000000000"),
            (&["10", "100"], "2.0000000000000000"),
            (&["1.5", "12345"], "23.2350607077787662"),
            (&["10", "1.0001"], "0.00004342727686266964"),
        ],
    );
}

#[test]
fn power_has_postgresqls_digits() {
    check(
        power,
        &[
            (&["2", "3"], "8.0000000000000000"),
            (&["9", "0.5"], "3.0000000000000000"),
            (&["2", "-2"], "0.2500000000000000"),
            (&["1.5", "2.5"], "2.7556759606310754"),
            (&["1.0001", "5000"], "1.6486800559311758"),
            (&["-2", "3"], "-8.0000000000000000"),
            (&["0", "2"], "0.0000000000000000"),
            (&["10", "-5"], "0.0000100000000000"),
            (&["0.1", "10.5"], "0.00000000003162277660168379"),
            (&["12.5", "0"], "1.0000000000000000"),
            (&["7", "30"], "22539340290692258087863249.0000000000000000"),
            (&["0", "0.5"], "0.0000000000000000"),
            (&["-1.01", "1001"], "-21168.7471941917966651"),
            (&["123.456", "1"], "123.4560000000000000"),
            (&["2.5", "2"], "6.2500000000000000"),
        ],
    );
}

#[test]
fn what_is_not_defined_is_refused() {
    let kind = |result: SqlResult<Decimal>| result.unwrap_err().kind;
    assert_eq!(kind(sqrt(&[decimal("-1")])), ErrorKind::InvalidPower);
    assert_eq!(kind(ln(&[decimal("0")])), ErrorKind::InvalidLogarithmArgument);
    assert_eq!(kind(log(&[decimal("1"), decimal("5")])), ErrorKind::DivisionByZero);
    assert_eq!(kind(power(&[decimal("0"), decimal("-1")])), ErrorKind::InvalidPower);
    assert_eq!(kind(power(&[decimal("-8"), decimal("0.5")])), ErrorKind::InvalidPower);
    assert_eq!(kind(power(&[decimal("10"), decimal("100")])), ErrorKind::NumericOutOfRange);
    assert_eq!(kind(exp(&[decimal("1000")])), ErrorKind::NumericOutOfRange);
}
