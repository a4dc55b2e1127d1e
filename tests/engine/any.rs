//! An index of whichever width answers as the index of that width does.

use std::ops::ControlFlow;

use crate::common::{Scratch, Shape, data, queries};
use hamdex::{
    AnyIndex, BatchOptions, BuildOptions, Builder, Fingerprint, Index, ReadErrorKind, VerifyOptions,
};

fn write<F: Fingerprint>(scratch: &Scratch, name: &str) -> Vec<F> {
    let stored = data::<F>(Shape::Mixed, 3000, 61);
    let options = BuildOptions::new().ids(true).metadata("colour", "blue").block_bytes(512);
    let mut builder = Builder::<F>::with_options(scratch.path(name), options).unwrap();
    (0..).zip(&stored).try_for_each(|(id, &x)| builder.push_with_id(x, id)).unwrap();
    builder.finish().unwrap();
    stored
}

fn check<F: Fingerprint + Into<u128>>(scratch: &Scratch, name: &str) {
    let stored = write::<F>(scratch, name);
    let (any, typed) =
        (AnyIndex::open(scratch.path(name)).unwrap(), Index::<F>::open(scratch.path(name)).unwrap());
    assert_eq!((any.width(), any.len(), any.is_empty()), (F::BITS, typed.len(), false));
    assert_eq!((any.file_id(), any.has_ids(), any.metadata()), (typed.file_id(), true, typed.metadata()));
    assert_eq!((any.design(), any.distance()), (typed.design().name(), typed.design().distance()));
    assert_eq!(any.codec(), typed.stats().codec);
    assert_eq!(any.verify_with(&VerifyOptions::new()).unwrap(), typed.verify().unwrap());
    let (mut one, mut other, mut ids) = (any.searcher(), typed.searcher(), any.searcher());
    let queries = queries(&stored, 20, 62);
    let wide: Vec<u128> = queries.iter().map(|&query| query.into()).collect();
    let of = |matches: &[hamdex::Match<F>]| -> Vec<(u32, u128)> {
        matches.iter().map(|m| (m.distance, m.fingerprint.into())).collect()
    };
    let of_any = |matches: &[hamdex::Match<u128>]| -> Vec<(u32, u128)> {
        matches.iter().map(|m| (m.distance, m.fingerprint)).collect()
    };
    for (&query, &wide) in queries.iter().zip(&wide) {
        let found = one.within(wide, 3).unwrap();
        let expected = other.within(query, 3).unwrap();
        assert_eq!(of_any(found), of(expected));
        let lists = typed.ids_of(expected).unwrap().into_iter().map(Iterator::collect::<Vec<_>>);
        let of_any_match = ids.ids_of(found).unwrap().into_iter().map(Iterator::collect::<Vec<_>>);
        assert!(lists.eq(of_any_match));
        let nearest = one.nearest_within(wide, 7, 20).unwrap();
        assert_eq!(of_any(nearest), of(other.nearest_within(query, 7, 20).unwrap()));
        let first = one.first(wide, 3).unwrap().map(|m| m.fingerprint);
        assert_eq!(first, other.first(query, 3).unwrap().map(|m| m.fingerprint.into()));
        assert_eq!(any.contains(wide).unwrap(), typed.contains(query).unwrap());
        assert!(any.ids(wide).unwrap().eq(typed.ids(query).unwrap()));
    }
    let mut places = Vec::new();
    let batch = typed.batch(&queries, 3).unwrap();
    let outcome = any.batch_with(&wide, 3, &BatchOptions::new(), &mut |place, matches| {
        assert_eq!(of_any(matches), of(batch.matches(place)));
        places.push(place);
        ControlFlow::Continue(())
    });
    assert!(outcome.unwrap().is_continue());
    assert!(places.into_iter().eq(0..queries.len()));
    let mut pairs = 0;
    let _ = any.for_each_pair(2, &mut |some| {
        pairs += some.len() as u64;
        ControlFlow::Continue(())
    });
    assert_eq!(pairs, typed.pairs(2).count_by_distance().unwrap().iter().sum::<u64>());
}

#[test]
fn either_width_answers_as_itself() {
    let scratch = Scratch::new();
    check::<u64>(&scratch, "narrow");
    check::<u128>(&scratch, "wide");
}

#[test]
fn what_does_not_fit_is_refused() {
    let scratch = Scratch::new();
    write::<u64>(&scratch, "narrow");
    write::<u128>(&scratch, "wide");
    let (narrow, wide) = (scratch.path("narrow"), scratch.path("wide"));
    let index = AnyIndex::open(&narrow).unwrap();
    let beyond = 1u128 << 64;
    let refusals = [
        index.contains(beyond).unwrap_err(),
        index.ids(beyond).map(drop).unwrap_err(),
        index.searcher().within(beyond, 3).map(drop).unwrap_err(),
        index.searcher().first(beyond, 3).map(drop).unwrap_err(),
        index.searcher().nearest_within(beyond, 1, 64).map(drop).unwrap_err(),
        index.batch_with(&[1, beyond], 3, &BatchOptions::new(), &mut |_, _| panic!()).map(drop).unwrap_err(),
    ];
    for error in refusals {
        assert!(matches!(error.kind(), ReadErrorKind::QueryTooWide { width: 64, .. }), "{error}");
        assert_eq!(error.path(), Some(&*narrow));
    }
    assert!(index.into_128().is_err());
    assert!(AnyIndex::open(&narrow).unwrap().into_64().is_ok());
    assert!(AnyIndex::open(&wide).unwrap().into_64().is_err());
    assert!(AnyIndex::open(&wide).unwrap().into_128().is_ok());
    std::fs::write(&wide, "no index").unwrap();
    assert!(matches!(AnyIndex::open(&wide).unwrap_err().kind(), ReadErrorKind::NotHamdex));
}
