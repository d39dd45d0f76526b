/** The admission plugins of kube-apiserver by name, in its order, and which of them a server
 *  has. */

/** `on` and `off`: there, and on or off unless something else is asked for. `idle`: does nothing
 *  without a feature that is off in all minors, whether it is on or not. `none`: not here. */
type Presence = 'on' | 'off' | 'idle' | 'none'

const presences: Readonly<Record<string, Presence>> = {
  AlwaysAdmit: 'off',
  NamespaceAutoProvision: 'none',
  NamespaceLifecycle: 'on',
  NamespaceExists: 'none',
  LimitPodHardAntiAffinityTopology: 'off',
  LimitRanger: 'on',
  ServiceAccount: 'on',
  NodeRestriction: 'none',
  TaintNodesByCondition: 'on',
  AlwaysPullImages: 'off',
  ImagePolicyWebhook: 'none',
  PodSecurity: 'on',
  PodNodeSelector: 'none',
  Priority: 'on',
  DefaultTolerationSeconds: 'on',
  PodTolerationRestriction: 'none',
  EventRateLimit: 'none',
  ExtendedResourceToleration: 'off',
  DefaultStorageClass: 'on',
  StorageObjectInUseProtection: 'on',
  PodGroupProtection: 'idle',
  OwnerReferencesPermissionEnforcement: 'off',
  PersistentVolumeClaimResize: 'on',
  RuntimeClass: 'on',
  CertificateApproval: 'on',
  CertificateSigning: 'on',
  ClusterTrustBundleAttest: 'idle',
  CertificateSubjectRestriction: 'on',
  DefaultIngressClass: 'on',
  DenyServiceExternalIPs: 'off',
  PodTopologyLabels: 'on',
  PodGroupWorkloadExists: 'idle',
  NodeDeclaredFeatureValidator: 'none',
  JobValidation: 'idle',
  PodResizeValidator: 'on',
  MutatingAdmissionPolicy: 'on',
  MutatingAdmissionWebhook: 'on',
  ValidatingAdmissionPolicy: 'on',
  ValidatingAdmissionWebhook: 'on',
  ResourceQuota: 'on',
  AlwaysDeny: 'none',
}

/** The names of all plugins, in the order in which they are asked. */
export const pluginNames: readonly string[] = Object.keys(presences)

/** The plugins that a server can have. */
export const availablePlugins: readonly string[] = pluginNames.filter(
  name => presences[name] === 'on' || presences[name] === 'off',
)

/** Names of plugins to switch on or off. */
export interface PluginChoice {
  readonly enabled: readonly string[]
  readonly disabled: readonly string[]
}

/** The plugins that are on, in their order. Switching on wins, as with kube-apiserver. */
export function chosenPlugins({ enabled, disabled }: PluginChoice): string[] {
  return availablePlugins.filter(
    name => enabled.includes(name) || (presences[name] === 'on' && !disabled.includes(name)),
  )
}

/** The complaint about a name of an option; undefined if it can be taken. What is not here is off:
 *  it can be switched off, and not on. */
export function pluginProblem(name: string, isEnabled: boolean): string | undefined {
  const known = presences[name]
  if (known === undefined) return `"${name}" is no admission plugin`
  return isEnabled && known === 'none' ? `the admission plugin "${name}" is not here` : undefined
}
