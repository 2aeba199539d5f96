//! How many three-cushion shots are ruled in a second, one core. The bar of the design page is 100,000.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use cuemark::events::notation;
use cuemark::rules::{MatchScorer, MatchSetup};
use cuemark::table::Table;

/// Shots of the usual kinds: a point, a miss, and one with doubtful events and close times.
const SHOTS: [&str; 4] = [
    "W!@0 W-R@0.5~0.002 W|left@1~0.002 W|head@1.6~0.003 W|right@2.4~0.003 W-Y@3.1~0.004 W.@7 R.@6 Y.@5",
    "W!@0 W-R@0.5~0.002 R|left@0.9 W|left@1~0.002 W|head@1.6~0.003 R|foot@2 W.@7 R.@6",
    "Y!@0 Y-R@0.5~0.002 Y|left@1~0.002 R-W@1.2 Y|head@1.6~0.003 Y|right@2.4~0.003?0.98 Y|foot@3?0.9995 Y-W@4.1~0.004 Y.@9",
    "Y!@0 Y|foot@0.4~0.002 Y|left@1~0.002 Y|right@2.4~0.003 Y-W@3~0.004 Y-R@4.1~0.004 Y.@9",
];

fn three_cushion(c: &mut Criterion) {
    let shots: Vec<_> = SHOTS.iter().filter_map(|line| notation::parse(line).ok()).collect();
    assert_eq!(shots.len(), SHOTS.len());
    let mut group = c.benchmark_group("rules");
    group.throughput(Throughput::Elements(shots.len() as u64 * 250));
    group.bench_function("three-cushion match of 1000 shots", |b| {
        b.iter(|| {
            let mut scorer = MatchScorer::new(&Table::CAROM, &MatchSetup::default());
            for _ in 0..250 {
                for shot in &shots {
                    std::hint::black_box(scorer.play(shot));
                }
            }
            scorer.standing()
        });
    });
    group.finish();
}

criterion_group!(benches, three_cushion);
criterion_main!(benches);
