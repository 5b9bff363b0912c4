//! Looks at the other tables that the newest version uses, and at the pins by which versions of other tables keep versions of this
//! one.

use std::collections::{BTreeMap, BTreeSet};

use super::{Cure, Doctor, EACH, READS};
use crate::{
    error::{ErrorKind, Result, counted},
    format::manifest_name,
    table::{
        session::not_pinned,
        upkeep::{
            gc::{User, read_pin, user},
            verify::ranges,
        },
        version::{objects::together, table::Table},
    },
};

impl Doctor {
    /// Looks for the other tables that the newest version uses, and for the pins that it could not leave there.
    pub(super) async fn owners(&mut self, newest: &Table) -> Result<()> {
        let stores = &newest.manifest().stores;
        let looks = (1..)
            .zip(stores)
            .take(READS)
            .map(|(number, foreign)| async move { Ok((foreign, newest.store_of(number).await.err())) });
        for (foreign, error) in together(looks.collect::<Vec<_>>()).await? {
            let Some(error) = error else { continue };
            let url = foreign.urls.first().cloned().unwrap_or_default();
            let what = match newest.is_view() {
                true => "rows of this view are in a table that",
                false => "chunks of this table are in another one that",
            };
            let (is, cure) = match error.kind() {
                ErrorKind::Corrupt => ("is damaged", Cure::Copy),
                ErrorKind::Unavailable => ("did not answer", Cure::Retry),
                ErrorKind::Denied => match newest.followed(&url) {
                    Ok(_) => ("may not be read", Cure::Permit),
                    Err(_) if url.contains("://") => ("cannot be opened", Cure::Allow(url.clone())),
                    Err(_) => ("cannot be opened", Cure::Rebind),
                },
                _ => ("cannot be opened", Cure::Rebind),
            };
            let place = match cure {
                Cure::Copy => format!("{url}/{}", manifest_name(foreign.version)),
                _ => format!("{url}@{}", foreign.version),
            };
            self.find(format!("{what} {is}: {error}"), place, None, cure);
        }
        let versions = counted(stores.len(), "version");
        match newest.is_view() {
            _ if stores.is_empty() => {}
            true => self.found.not_checked.push(format!(
                "the rows of {versions} of other tables, beyond their manifests; `verify` with sources reads them, and a diagnosis of these tables looks at them"
            )),
            false => {
                self.found.not_checked.push(format!("the chunks in {versions} of other tables; `verify` reads them"));
            }
        }
        if stores.len() > READS {
            self.found.not_checked.push(format!("whether {} more of them can be opened", stores.len() - READS));
        }
        let written = self.versions.as_ref().and_then(|versions| versions.get(&newest.version()).copied());
        for url in not_pinned(newest.manifest()) {
            let what = "no pin could be left in a table that this one uses: a garbage collection there may delete what it needs";
            self.find(what, url, written, Cure::Materialize);
        }
        Ok(())
    }

    /// Reads the pins: those of versions that do not exist keep garbage, and those that name a lost version tell of a broken table.
    pub(super) async fn pins(&mut self, newest: &Table) -> Result<()> {
        let (listed, whole) = self.listed("pins").await?;
        if listed.len() > READS {
            let rest = counted(listed.len() - READS, "pin");
            let rest = if whole { rest } else { format!("more than {rest}") };
            self.found.not_checked.push(format!("{rest}; `verify` reads them"));
        }
        let (store, before) = (self.store.clone(), self.before);
        let looks = listed.into_iter().take(READS).map(|listed| {
            let store = store.clone();
            async move {
                let pin = match read_pin(&store, &listed.name).await {
                    Ok(None) => return Ok(None),
                    Ok(Some(pin)) => Ok(pin),
                    Err(error) if error.kind() == ErrorKind::Corrupt => Err(error),
                    Err(error) => return Err(error),
                };
                let user = match &pin {
                    Ok(pin) if listed.modified_ms <= before => user(&store, pin).await,
                    _ => User::Unknown,
                };
                Ok(Some((listed, pin, user)))
            }
        });
        let mut nowhere: BTreeMap<String, (BTreeSet<u64>, Vec<String>)> = BTreeMap::new();
        for (listed, pin, user) in together(looks.collect::<Vec<_>>()).await?.into_iter().flatten() {
            let since = Some(listed.modified_ms);
            let pin = match pin {
                Err(error) => {
                    let what =
                        format!("a pin cannot be read, so that no garbage is collected: {error}; delete it if no table needs it");
                    self.damage(what, listed.name, since);
                    continue;
                }
                // The folder of another table was copied here.
                Ok(pin) if pin.owner.table != newest.manifest().table => continue,
                Ok(pin) => pin,
            };
            let (place, version) = (pin.urls.first().cloned().unwrap_or_default(), pin.owner.version);
            if user == User::Gone {
                self.find("a pin is of a version that does not exist", listed.name, since, Cure::CollectGarbage);
            } else if !self.exists(version) {
                let what = format!("another table or view uses version {version}, which does not exist");
                self.find(what, place.as_str(), since, Cure::MakeAnew(place.clone()));
            } else if user == User::NotThere {
                let (versions, pins) = nowhere.entry(place).or_default();
                versions.insert(version);
                pins.push(listed.name);
            }
        }
        self.nowhere(nowhere);
        Ok(())
    }

    /// Notes the pins of tables that are not where the pins say. They may have moved, so that nothing deletes their pins.
    fn nowhere(&mut self, users: BTreeMap<String, (BTreeSet<u64>, Vec<String>)>) {
        for (place, (versions, pins)) in users {
            let versions: Vec<u64> = versions.into_iter().collect();
            let (shown, more) = pins.split_at(pins.len().min(EACH));
            let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
            let (noun, verb) = if versions.len() == 1 { ("version", "is") } else { ("versions", "are") };
            self.found.notes.push(format!(
                "{noun} {} {verb} kept for {place}, and the table or view that wrote so is not there any more; if it was deleted, \
                 delete its pins: {}{more}",
                ranges(&versions),
                shown.join(", ")
            ));
        }
    }
}
