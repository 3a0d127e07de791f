//! Set algebra against membership of single keys.

use proptest::prelude::*;

use super::*;

/// Texts around every cut the strategies make, on two axes.
const UNIVERSE: [&str; 9] = ["", "0", "a", "a!", "aa", "ab", "b", "ba", "c"];

fn cut() -> impl Strategy<Value = Cut> {
    let text = prop::sample::select(UNIVERSE.to_vec()).prop_map(Arc::<str>::from);
    prop_oneof![
        1 => Just(Cut::Min),
        1 => Just(Cut::Max),
        2 => text.clone().prop_map(Cut::Before),
        2 => text.clone().prop_map(Cut::After),
        2 => text.prop_map(Cut::AfterPrefix),
    ]
}

fn span() -> impl Strategy<Value = Span> {
    let point = prop::sample::select(UNIVERSE.to_vec()).prop_map(Span::point);
    prop_oneof![(cut(), cut()).prop_map(|(from, to)| Span { from, to }), point]
}

fn set() -> impl Strategy<Value = KeySet> {
    let spans = prop::collection::vec(span(), 0..4);
    let leaf = (0_usize..2, spans).prop_map(|(axis, spans)| KeySet::on_axis(axis, spans));
    leaf.prop_recursive(4, 16, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a.union(&b)),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a.intersect(&b)),
            inner.prop_map(|a| a.complement()),
        ]
    })
}

fn check_form(set: &KeySet) {
    let KeySet::Slabs(slabs) = set else { return };
    assert!(!slabs.is_empty());
    assert!(!matches!(&**slabs, [Slab { span, rest: KeySet::All }] if span.is_all()));
    for pair in slabs.windows(2) {
        assert!(pair[0].span.to <= pair[1].span.from);
        assert!(pair[0].span.to < pair[1].span.from || pair[0].rest != pair[1].rest, "{set:?}");
    }
    for slab in slabs.iter() {
        assert!(!slab.span.is_empty() && !slab.rest.is_none());
        check_form(&slab.rest);
    }
}

fn universe() -> impl Iterator<Item = [&'static str; 2]> {
    UNIVERSE.into_iter().flat_map(|a| UNIVERSE.into_iter().map(move |b| [a, b]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn operations_agree_with_membership(a in set(), b in set()) {
        let (union, both, not, minus) = (a.union(&b), a.intersect(&b), a.complement(), a.minus(&b));
        [&a, &b, &union, &both, &not, &minus].into_iter().for_each(check_form);
        for key in universe() {
            let (in_a, in_b) = (a.contains(&key), b.contains(&key));
            prop_assert_eq!(union.contains(&key), in_a || in_b);
            prop_assert_eq!(both.contains(&key), in_a && in_b);
            prop_assert_eq!(not.contains(&key), !in_a);
            prop_assert_eq!(minus.contains(&key), in_a && !in_b);
            if in_a {
                prop_assert!(a.behind(1).contains(&key[1..]));
                prop_assert!(a.hull().unwrap().contains(key[0]));
            }
        }
        prop_assert_eq!(&not.complement(), &a);
        prop_assert_eq!(a.is_disjoint(&b), both.is_none());
        prop_assert!(union.minus(&a).minus(&b).is_none());
    }

    #[test]
    fn equal_sets_look_equal(a in set(), b in set(), c in set()) {
        prop_assert_eq!(a.union(&b).intersect(&c), a.intersect(&c).union(&b.intersect(&c)));
        prop_assert_eq!(a.union(&b).complement(), a.complement().intersect(&b.complement()));
    }
}

#[test]
fn lists_on_two_axes_stay_factored() {
    let points = |axis| KeySet::on_axis(axis, (0..1000).map(|n| Span::point(format!("{n:04}"))).collect());
    let KeySet::Slabs(slabs) = points(0).intersect(&points(1)) else { panic!("slabs") };
    assert_eq!(slabs.len(), 1000);
    let rests: Vec<_> = slabs.iter().map(|slab| slab.rest.slabs()).collect();
    assert!(rests.windows(2).all(|pair| Arc::ptr_eq(&pair[0], &pair[1])));
}

#[test]
fn unions_of_many_points_are_quick_and_merged() {
    let sets = (0..5000).map(|n| KeySet::on_axis(0, vec![Span::point(format!("{:04}", n % 2500))])).collect();
    assert_eq!(KeySet::union_all(sets).slabs().len(), 2500);
}
