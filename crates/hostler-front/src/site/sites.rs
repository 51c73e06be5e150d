//! The site of each virtual host. Checked once, when the plan arrives: an unknown number must never mean the first of
//! all, which is another tenant's.

use hostler_config::Server;
use hostler_wire::plan::SiteId;

/// The site of each virtual host, by [`Server::id`].
#[derive(Debug)]
pub(crate) struct Sites(Vec<SiteId>);

impl Sites {
    /// Takes the plan's word if there are so many virtual hosts, and so many sites.
    pub(crate) fn checked(of: Vec<SiteId>, hosts: usize, sites: usize) -> Option<Self> {
        let all_exist = of.len() == hosts && of.iter().all(|site| (*site as usize) < sites);
        all_exist.then_some(Self(of))
    }

    /// The site of a virtual host.
    ///
    /// # Panics
    /// When it is none of the configuration that the sites were checked for.
    pub(crate) fn of(&self, server: &Server) -> SiteId {
        self.0[server.id as usize]
    }

    /// All, by [`Server::id`].
    pub(crate) fn all(&self) -> &[SiteId] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_names_no_site_and_a_host_without_one_are_refused() {
        assert!(Sites::checked(vec![0, 1, 1], 3, 2).is_some());
        assert!(Sites::checked(vec![0, 2, 1], 3, 2).is_none());
        assert!(Sites::checked(vec![0, 1], 3, 2).is_none());
        assert!(Sites::checked(vec![0, 1, 1, 0], 3, 2).is_none());
    }
}
