/** The parts of a kubeconfig that decide where the API server is and who the user is, as
 *  client-go's `tools/clientcmd/api/v1` defines them. Paths of files are absolute. */

export interface Kubeconfig {
  /** Files that it was read from; one, unless KUBECONFIG names several. */
  readonly files: readonly string[]
  /** Empty if none is set. */
  readonly currentContext: string
  readonly clusters: ReadonlyMap<string, KubeconfigCluster>
  readonly users: ReadonlyMap<string, KubeconfigUser>
  readonly contexts: ReadonlyMap<string, KubeconfigContext>
}

/** An entry that has a name, and the file that it is from, for messages. */
interface NamedEntry {
  readonly name: string
  readonly file: string
}

export interface KubeconfigCluster extends NamedEntry {
  readonly server: string
  readonly tlsServerName: string
  readonly isUnverified: boolean
  readonly authority: PemSource
  readonly proxyUrl: string
  readonly isUncompressed: boolean
  /** The extension `client.authentication.k8s.io/exec`, which is the plugin's to understand. */
  readonly pluginConfig: unknown
}

/** PEM that is in the kubeconfig, or in a file beside it. */
export interface PemSource {
  readonly data: Buffer | undefined
  readonly path: string
}

export interface KubeconfigUser extends NamedEntry {
  readonly certificate: PemSource
  readonly key: PemSource
  readonly token: string
  readonly tokenFile: string
  readonly username: string
  readonly password: string
  readonly impersonation: KubeconfigImpersonation
  readonly exec: ExecPluginSettings | undefined
  /** Name of the `auth-provider`, which client-go has given up but for `oidc`. */
  readonly authProvider: string | undefined
}

export interface KubeconfigImpersonation {
  readonly user: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

export interface ExecPluginSettings {
  readonly apiVersion: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: readonly { readonly name: string; readonly value: string }[]
  readonly installHint: string
  readonly providesClusterInfo: boolean
  readonly interactiveMode: string
}

export interface KubeconfigContext extends NamedEntry {
  readonly cluster: string
  readonly user: string
  readonly namespace: string
}
