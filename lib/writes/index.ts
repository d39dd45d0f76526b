/** Everything that other packages may import of this one. */

export { createAdmission } from './admission/chain.ts'
export { ObjectConversions } from './admission/conversion/conversions.ts'
export type { PluginChoice } from './admission/plugin-names.ts'
export { typeWarnings } from './admission/policies/type-check.ts'
export { selectorsOf } from './admission/quota/scopes.ts'
export { countedResource, evaluatorOf, isAbout } from './admission/quota/usage.ts'
export { masked, resourceList, type ResourceList, sumOf } from './admission/resource-lists.ts'
export {
  CallFailure,
  type HookCall,
  type HookCaller,
  type HookReply,
} from './admission/webhooks/caller.ts'
export type { HookClient } from './admission/webhooks/hooks.ts'
export { ruleLanguage } from './custom/cel/language.ts'
export { completeBuiltIn } from './decode/body.ts'
export { jsonFromCbor } from './decode/cbor-body.ts'
export { typedText } from './decode/complete-tree.ts'
export { jsonBody } from './decode/documents.ts'
export { DecodeError, decodeTyped } from './decode/typed-decoder.ts'
export { parseYaml } from './decode/yaml-body.ts'
export { createGenerated, type GeneratedValues } from './generated-values.ts'
export { matchesSelector } from './label-match.ts'
export { isEqual, metaText, numberOf, textOf } from './metadata.ts'
export { deleteAdmission } from './operations/admission.ts'
export { deleteObject, warningsOfDelete } from './operations/delete-object.ts'
export { readDeleteOptions } from './operations/delete-options-body.ts'
export { runWrite } from './operations/run-write.ts'
export {
  entryOf,
  plainOf,
  treeOf,
  type WriteServices,
  WriteSession,
  type Written,
} from './operations/session.ts'
export { applyMergePatch } from './patches/merge-patch.ts'
export { deletions, directive, elementOrder } from './patches/strategic/directives.ts'
export { StrategicFailure } from './patches/strategic/failures.ts'
export {
  lookUpMember,
  type PatchField,
  type PatchType,
  patchTypeOf,
} from './patches/strategic/patch-schema.ts'
export { strategicMerge } from './patches/strategic/strategic-merge.ts'
export {
  type Binding,
  bindingOf,
  type PolicyRule,
  type RoleReference,
  rulesOf,
} from './rbac/policy.ts'
export {
  administrators,
  authorize,
  type RbacDecision,
  type HeldRules,
  type Policy,
  referredRules,
  rulesFor,
} from './rbac/rbac.ts'
export { forbiddenWrite, tooLarge } from './refusals.ts'
export type { Commit, WriteChange, WriteStore } from './store.ts'
export { storedBytes } from './stored-form.ts'
export type { NumbersInUse, PortRange } from './kinds/kind.ts'
export { dnsLabel, dnsSubdomain } from './validation/formats.ts'
export type { IssuedToken, ReviewedToken, TokenOrder, WriteAccess } from './write-access.ts'
export type { WriteKind } from './write-kind.ts'
export { writeKindOf } from './write-kinds.ts'
