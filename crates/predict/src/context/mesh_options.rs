//! What options state about the pods of a mesh that is not Istio.

use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::model::MeshModel;
use meshprobe_mesh::settings::InjectionAssumption;

use crate::context::mesh::WorkloadMesh;

impl WorkloadMesh<'_, '_> {
    /// Returns what an option states about native sidecars.
    pub(super) fn native_sidecars_by_option(self) -> Option<Fact<bool>> {
        let given = self.context.user_facts(&self.workload.object);
        let overriding = given.overrides.native_sidecars;
        let native = overriding.or(given.assume.native_sidecars)?;
        let is_override = overriding.is_some();
        let option = if is_override {
            "--override"
        } else {
            "--assume"
        };
        let not = if native { "" } else { "not " };
        let message = format!("the sidecar is {not}native ({option})");
        Some(Fact::set_by_user(native, message, is_override))
    }

    /// Returns what an option states about injection. `--override` always applies. `--assume` applies
    /// if the tree does not contain the Namespace, or if the mesh does not read it.
    pub(super) fn injection_by_option(self, model: &dyn MeshModel) -> Option<Fact<bool>> {
        let object = &self.workload.object;
        let given = self.context.user_facts(object);
        let name = self.context.namespace_of(object).name;
        let (option, by) = match (given.overrides.injection, given.assume.injection) {
            (Some(option), _) => (option, "--override"),
            (None, Some(option))
                if !model.namespace_decides()
                    || self.context.namespace_of(object).manifest().is_none() =>
            {
                (option, "--assume")
            }
            _ => return None,
        };
        let (injected, not) = match option {
            InjectionAssumption::All => (true, ""),
            InjectionAssumption::None => (false, "not "),
            InjectionAssumption::Evidence => return None,
        };
        let message = format!("namespace `{name}` is {not}injected ({by})");
        Some(Fact::set_by_user(injected, message, by == "--override"))
    }
}
