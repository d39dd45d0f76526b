/** The access of one user to one cluster, as a context of a kubeconfig describes it: where the API
 *  server is, and credentials that are current. Connections are the caller's. */

import { CacheError, type CancelTimer, type Clock, follow, type Logger } from '@watchglass/base'
import { expiryProblem } from '@watchglass/go'
import { type AccessTls, isGiven, readAccessTls } from './credentials/access-tls.ts'
import type { PluginCredentials } from './credentials/exec-credential.ts'
import { ExecPlugin } from './credentials/exec-plugin.ts'
import { FileToken } from './credentials/file-token.ts'
import { impersonationHeaders } from './credentials/impersonation-headers.ts'
import { chooseContext, type ChosenContext, noContextProblem, placeOf } from './file/choose.ts'
import type { ForwardProxy } from './file/forward-proxy.ts'
import { inClusterContext } from './file/in-cluster.ts'
import type { KubeconfigUser } from './file/kubeconfig.ts'
import { loadKubeconfig } from './file/load.ts'
import type { KubeconfigSystem } from './system.ts'

export interface KubeconfigAccessOptions {
  /** Undefined: KUBECONFIG, or `~/.kube/config`, or the service account of the pod. */
  readonly kubeconfig?: string | undefined
  /** Undefined: the current one. */
  readonly context?: string | undefined
  readonly system: KubeconfigSystem
  readonly clock: Clock
  readonly logger: Logger
}

/** Credentials for one request. */
export interface AccessCredentials {
  /** `authorization`, and whom the user acts as. Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[]>>
  /** To be called when the server has answered 401: they are made anew for the next request. */
  readonly refused: () => void
}

export class KubeconfigAccess {
  readonly #chosen: ChosenContext
  readonly #authorize: () => Promise<AccessCredentials>
  readonly #plugin: ExecPlugin | undefined
  readonly #listeners = new Set<(tls: AccessTls) => void>()
  readonly #cancelFollowing: CancelTimer
  readonly #impersonation: AccessCredentials['headers']
  #files: AccessTls
  #ofPlugin: PluginCredentials['certificate'] = undefined

  private constructor(
    chosen: ChosenContext,
    files: AccessTls,
    { system, clock, logger }: KubeconfigAccessOptions,
  ) {
    this.#chosen = chosen
    this.#files = files
    this.#plugin = pluginOf(chosen, {
      system,
      clock,
      authority: () => this.#files.ca,
      onRenewed: renewed => this.#take(renewed),
    })
    const { user } = chosen
    this.#impersonation = user === undefined ? {} : impersonationHeaders(user.impersonation)
    this.#authorize = authorizerOf(chosen, this.#plugin, { system, clock })
    const certificate = `kubeconfig context ${JSON.stringify(chosen.name)}`
    this.#cancelFollowing = hasFiles(chosen)
      ? follow({
          what: `certificates of ${certificate}`,
          current: files,
          read: () => readAccessTls(chosen, path => system.readFile(path)),
          problemOf: ({ cert }) => expiryProblem(certificate, cert, clock.wallMs()),
          onChange: renewed => {
            this.#files = renewed
            this.#told()
          },
          clock,
          logger,
        })
      : () => {}
  }

  /** Finds the context, and reads its certificates. Fails with `invalid_request` if the kubeconfig
   *  cannot be used; the message says where it is wrong and what to do. */
  static async open(options: KubeconfigAccessOptions): Promise<KubeconfigAccess> {
    const { system } = options
    const chosen = await contextFor(options)
    const files = await readAccessTls(chosen, path => system.readFile(path))
    return new KubeconfigAccess(chosen, files, options)
  }

  /** May have a path, below which the API is. */
  get url(): URL {
    return this.#chosen.url
  }

  get namespace(): string {
    return this.#chosen.namespace
  }

  /** Undefined: the server is reached directly. */
  get proxy(): ForwardProxy | undefined {
    return this.#chosen.proxy
  }

  /** The TLS options of now. A plugin's certificate is among them once `credentials` has had it. */
  get tls(): AccessTls {
    return { ...this.#files, ...this.#ofPlugin }
  }

  /** The current credentials for a request. TLS options have changed before this resolves, if they
   *  do. Fails with `unauthorized` if there are none. */
  async credentials(): Promise<AccessCredentials> {
    const { headers, refused } = await this.#authorize()
    return { headers: { ...headers, ...this.#impersonation }, refused }
  }

  /** Calls `listener` with other TLS options whenever they change, until the answer is called. */
  subscribe(listener: (tls: AccessTls) => void): CancelTimer {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  stop(): void {
    this.#cancelFollowing()
    this.#listeners.clear()
  }

  /** One line for people, without secrets. */
  describe(): string {
    const { name, cluster, namespace, url, proxy } = this.#chosen
    const through = proxy === undefined ? '' : `, through ${proxy.from} ${proxy.host}:${proxy.port}`
    const unverified = cluster.isUnverified ? ' (its certificate is not checked)' : ''
    return `context ${JSON.stringify(name)}: ${url.href}${unverified}${through}, ${identityOf(this.#chosen)}, namespace ${namespace}`
  }

  #take({ certificate }: PluginCredentials): void {
    const before = this.#ofPlugin
    const isSame =
      before === certificate ||
      (before !== undefined &&
        certificate !== undefined &&
        before.cert.equals(certificate.cert) &&
        before.key.equals(certificate.key))
    if (isSame) return
    this.#ofPlugin = certificate
    this.#told()
  }

  #told(): void {
    for (const listener of this.#listeners) listener(this.tls)
  }
}

/** The context that the options name, the current one, or the service account's. */
async function contextFor({
  kubeconfig: file,
  context,
  system,
}: KubeconfigAccessOptions): Promise<ChosenContext> {
  const { kubeconfig, missing } = await loadKubeconfig(file, system)
  const hasNone = kubeconfig.files.length === 0
  if (!hasNone) {
    const chosen = chooseContext(kubeconfig, context, system.env)
    if (chosen !== undefined) return chosen
  }
  if (file === undefined && context === undefined) {
    const chosen = await inClusterContext(system)
    if (chosen !== undefined) return chosen
  }
  const problem = hasNone ? `there is no kubeconfig: ${missing}` : noContextProblem(kubeconfig)
  throw new CacheError('invalid_request', problem)
}

/** True where a file may change. */
function hasFiles({ cluster, user }: ChosenContext): boolean {
  const pems = [cluster.authority, ...(user === undefined ? [] : [user.certificate, user.key])]
  return pems.some(({ data, path }) => data === undefined && path !== '')
}

type PluginParts = Pick<
  ConstructorParameters<typeof ExecPlugin>[0],
  'system' | 'clock' | 'authority' | 'onRenewed'
>

/** Undefined where there is none, or other credentials come first: client-go then never runs it. */
function pluginOf(chosen: ChosenContext, parts: PluginParts): ExecPlugin | undefined {
  const { name, cluster, user, url } = chosen
  if (user?.exec === undefined || url.protocol !== 'https:' || hasOwn(user)) return undefined
  return new ExecPlugin({
    ...parts,
    settings: user.exec,
    place: placeOf(name, 'user', user),
    cluster,
  })
}

function hasOwn(user: KubeconfigUser): boolean {
  const { token, tokenFile, username, password, certificate } = user
  return [token, tokenFile, username, password].some(text => text !== '') || isGiven(certificate)
}

/** The function that makes the credentials of each request. A server without TLS gets none. */
function authorizerOf(
  { name, user, url }: ChosenContext,
  plugin: ExecPlugin | undefined,
  { system, clock }: { readonly system: KubeconfigSystem; readonly clock: Clock },
): () => Promise<AccessCredentials> {
  if (user === undefined || url.protocol !== 'https:') return unchanging({})
  const { token, tokenFile, username, password } = user
  if (tokenFile !== '') {
    const place = placeOf(name, 'user', user)
    const readFile = (path: string): Promise<Buffer> => system.readFile(path)
    const file = new FileToken({ path: tokenFile, place, fallback: token, readFile, clock })
    return async () => ({ headers: bearer(await file.token()), refused: () => {} })
  }
  if (token !== '') return unchanging(bearer(token))
  if (username !== '' || password !== '') {
    const basic = Buffer.from(`${username}:${password}`).toString('base64')
    return unchanging({ authorization: `Basic ${basic}` })
  }
  if (plugin === undefined) return unchanging({})
  return async () => {
    const credentials = await plugin.credentials()
    return {
      headers: credentials.token === '' ? {} : bearer(credentials.token),
      refused: () => plugin.refused(credentials),
    }
  }
}

function unchanging(headers: AccessCredentials['headers']): () => Promise<AccessCredentials> {
  const credentials = { headers, refused: (): void => {} }
  return () => Promise.resolve(credentials)
}

/** Tokens are ASCII; whatever else there is goes as UTF-8, as Go sends it. */
function bearer(token: string): AccessCredentials['headers'] {
  return { authorization: `Bearer ${Buffer.from(token).toString('latin1')}` }
}

/** The user and the kind of credentials, without these. */
function identityOf({ user, url }: ChosenContext): string {
  if (user === undefined) return 'anonymous'
  const { certificate, token, tokenFile, username, password, exec, impersonation } = user
  const as = impersonation.user === '' ? '' : ` acting as ${JSON.stringify(impersonation.user)}`
  const kinds = [
    ...(isGiven(certificate) ? ['client certificate'] : []),
    ...(tokenFile !== '' ? [`token of ${tokenFile}`] : token === '' ? [] : ['token']),
    ...(username !== '' || password !== '' ? ['username and password'] : []),
  ]
  const plugin = exec === undefined ? [] : [`exec plugin ${exec.command}`]
  const used = kinds.length > 0 ? kinds : plugin
  const how = used.length === 0 ? 'no credentials' : used.join(', ')
  const sent = url.protocol === 'https:' ? how : 'no credentials, as the server has no TLS'
  return `user ${JSON.stringify(user.name)} (${sent})${as}`
}
