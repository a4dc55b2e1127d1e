//! Files that import each other in a loop.

use std::collections::BTreeSet;

use crate::modules::Modules;

/// Every set of files in which each reaches each other by imports, with the imports that tie it.
pub(crate) fn find(modules: &Modules) -> Vec<String> {
    let imports = modules.imports();
    let mut reaches: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); modules.len()];
    for &(from, to, _) in &imports {
        reaches[from].insert(to);
    }
    // The files are few: their transitive closure is found by going on until nothing is new.
    loop {
        let mut grown = false;
        for file in 0..reaches.len() {
            let further: BTreeSet<usize> =
                reaches[file].iter().flat_map(|&next| reaches[next].iter().copied()).collect();
            let before = reaches[file].len();
            reaches[file].extend(further);
            grown |= reaches[file].len() > before;
        }
        if !grown {
            break;
        }
    }
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    for file in (0..reaches.len()).filter(|&file| reaches[file].contains(&file)) {
        if !seen.insert(file) {
            continue;
        }
        let circle: BTreeSet<usize> =
            reaches[file].iter().copied().filter(|&other| reaches[other].contains(&file)).collect();
        seen.extend(&circle);
        let ties = imports.iter().filter(|(from, to, _)| circle.contains(from) && circle.contains(to));
        circles.push(
            ties.map(|(from, to, names)| {
                format!("  {} -> {}: {names:?}\n", modules.name(*from), modules.name(*to))
            })
            .collect(),
        );
    }
    circles
}
