/** One context of a kubeconfig with its cluster and its user, checked as kubectl checks it
 *  (client-go's `tools/clientcmd/validation.go`). What is wrong is said with the file and the
 *  context that it is in, and what to do about it. */

import { CacheError } from '@watchglass/base'
import { cleanText, isHeaderText } from './clean-text.ts'
import { type ForwardProxy, forwardProxyFor } from './forward-proxy.ts'
import type {
  ExecPluginSettings,
  Kubeconfig,
  KubeconfigCluster,
  KubeconfigContext,
  KubeconfigUser,
  PemSource,
} from './kubeconfig.ts'
import { serverUrl } from './server-url.ts'

export interface ChosenContext {
  readonly name: string
  readonly cluster: KubeconfigCluster
  /** Undefined: requests are anonymous. */
  readonly user: KubeconfigUser | undefined
  readonly namespace: string
  readonly url: URL
  readonly proxy: ForwardProxy | undefined
}

/** Names that a message lists. */
const listedMax = 12

/** The context of that name, or the current one. Undefined if none is named and none is current.
 *  Fails with `invalid_request` if it cannot be used. */
export function chooseContext(
  kubeconfig: Kubeconfig,
  named: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): ChosenContext | undefined {
  const name = named ?? kubeconfig.currentContext
  if (name === '') return undefined
  const files = kubeconfig.files.join(', ')
  const context = kubeconfig.contexts.get(name)
  if (context === undefined) {
    const how = named === undefined ? 'current-context is' : 'there is no context'
    const missing = named === undefined ? ', which is no context of it' : ''
    throw invalid(
      `kubeconfig ${files}: ${how} ${JSON.stringify(name)}${missing}; ${contextsOf(kubeconfig)}`,
    )
  }
  const where = `kubeconfig ${context.file}: context ${JSON.stringify(name)}`
  const cluster = kubeconfig.clusters.get(context.cluster)
  if (cluster === undefined) throw invalid(missingCluster(where, context, kubeconfig))
  const user = kubeconfig.users.get(context.user)
  if (user === undefined && context.user !== '') {
    throw invalid(
      `${where} names the user ${JSON.stringify(context.user)}, which ${files} does not have; add it with "kubectl config set-credentials", or name another one: ${namesIn(kubeconfig.users)}`,
    )
  }
  return usable(name, { context, cluster, user }, env)
}

/** The sentence for who has a kubeconfig without a current context. */
export function noContextProblem(kubeconfig: Kubeconfig): string {
  const files = kubeconfig.files.join(', ')
  return `kubeconfig ${files}: no context is current; ${contextsOf(kubeconfig)}`
}

function contextsOf({ contexts }: Kubeconfig): string {
  if (contexts.size === 0) return 'it has no contexts at all'
  return `choose one with --context or "kubectl config use-context": ${namesIn(contexts)}`
}

function missingCluster(
  where: string,
  { cluster }: KubeconfigContext,
  { files, clusters }: Kubeconfig,
): string {
  const other = `name one with "kubectl config set-context": ${namesIn(clusters)}`
  if (cluster === '') return `${where} names no cluster; ${other}`
  return `${where} names the cluster ${JSON.stringify(cluster)}, which ${files.join(', ')} does not have; ${other}`
}

function namesIn(entries: ReadonlyMap<string, unknown>): string {
  const names = [...entries.keys()].toSorted()
  if (names.length === 0) return '(there is none)'
  const more = names.length - listedMax
  return `${names.slice(0, listedMax).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

interface Entries {
  readonly context: KubeconfigContext
  readonly cluster: KubeconfigCluster
  readonly user: KubeconfigUser | undefined
}

function usable(
  name: string,
  { context, cluster, user }: Entries,
  env: Readonly<Record<string, string | undefined>>,
): ChosenContext {
  const inCluster = placeOf(name, 'cluster', cluster)
  const url = within(inCluster, () => serverUrl(cluster))
  const proxy = within(inCluster, () => forwardProxyFor(url, cluster.proxyUrl, env))
  const problems = [
    ...clusterProblems(cluster).map(problem => `${inCluster}: ${problem}`),
    ...(user === undefined ? [] : userProblems(user)).map(
      problem => `${placeOf(name, 'user', user ?? context)}: ${problem}`,
    ),
  ]
  if (problems.length > 0) throw invalid(problems.join('; '))
  return { name, cluster, user, namespace: context.namespace || 'default', url, proxy }
}

/** The place of an entry, as messages name it. */
export function placeOf(
  context: string,
  what: 'cluster' | 'user',
  { file, name }: { readonly file: string; readonly name: string },
): string {
  return `kubeconfig ${file}: context ${JSON.stringify(context)}, ${what} ${JSON.stringify(name)}`
}

function within<T>(place: string, task: () => T): T {
  try {
    return task()
  } catch (error) {
    const { message } = CacheError.from(error, 'invalid_request')
    throw new CacheError('invalid_request', `${place}: ${message}`, { cause: error })
  }
}

function clusterProblems({ authority, isUnverified }: KubeconfigCluster): string[] {
  const hasAuthority = authority.data !== undefined || authority.path !== ''
  return [
    ...bothProblem('certificate-authority', authority),
    ...(hasAuthority && isUnverified
      ? [
          'certificate-authority and insecure-skip-tls-verify exclude each other; delete one of them',
        ]
      : []),
  ]
}

function bothProblem(name: string, { data, path }: PemSource): string[] {
  if (data === undefined || path === '') return []
  return [`${name} and ${name}-data are both given; delete one of them`]
}

function userProblems(user: KubeconfigUser): string[] {
  const { certificate, key, token, tokenFile, username, password, exec, authProvider } = user
  const hasCertificate = certificate.data !== undefined || certificate.path !== ''
  const hasKey = key.data !== undefined || key.path !== ''
  const hasToken = token !== '' || tokenFile !== ''
  const hasPassword = username !== '' || password !== ''
  return [
    ...bothProblem('client-certificate', certificate),
    ...(hasCertificate ? bothProblem('client-key', key) : []),
    ...(hasCertificate && !hasKey
      ? ['there is a client-certificate without a key; add client-key or client-key-data']
      : []),
    ...(hasToken && hasPassword
      ? ['there are a token and a username or password; only one of them may be given']
      : []),
    ...(authProvider === undefined ? [] : [authProviderProblem(authProvider)]),
    ...(exec === undefined ? [] : pluginProblems(exec)),
    ...impersonationProblems(user),
    ...headerProblems(user),
  ]
}

/** client-go dropped those of clouds in 1.26. */
function authProviderProblem(name: string): string {
  const instead: Readonly<Record<string, string>> = {
    gcp: 'install gke-gcloud-auth-plugin and run "gcloud container clusters get-credentials" again',
    azure: 'run "kubelogin convert-kubeconfig"',
    oidc: 'use an exec plugin in its place, such as kubelogin ("kubectl oidc-login setup")',
  }
  const advice = Object.hasOwn(instead, name) ? instead[name] : 'use an exec plugin in its place'
  return `auth-provider ${JSON.stringify(name)} is not supported; ${advice}`
}

const pluginVersions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1']
const interactiveModes = ['Never', 'IfAvailable', 'Always']

function pluginProblems(plugin: ExecPluginSettings): string[] {
  const { command, apiVersion, env, interactiveMode, installHint } = plugin
  const isKnown = pluginVersions.includes(apiVersion)
  const outdated = apiVersion.endsWith('/v1alpha1')
    ? ', as v1alpha1 is not supported since Kubernetes 1.24: write the kubeconfig again with the tool that made it'
    : ''
  const hint = installHint === '' ? '' : ` (${cleanText(installHint)})`
  return [
    ...(command === '' ? [`exec.command is missing${hint}`] : []),
    ...(isKnown
      ? []
      : [
          `exec.apiVersion is ${JSON.stringify(apiVersion)}; it must be ${pluginVersions.join(' or ')}${outdated}`,
        ]),
    ...(env.some(({ name }) => name === '') ? ['exec.env has a variable without a name'] : []),
    ...modeProblems(apiVersion, interactiveMode),
  ]
}

/** The mode must be said in v1 only. */
function modeProblems(apiVersion: string, mode: string): string[] {
  const isOptional = apiVersion !== 'client.authentication.k8s.io/v1'
  if (interactiveModes.includes(mode) || (mode === '' && isOptional)) return []
  const found = mode === '' ? 'missing' : JSON.stringify(mode)
  return [`exec.interactiveMode is ${found}; it must be Never, IfAvailable or Always`]
}

function impersonationProblems({
  impersonation: { user, uid, groups, extra },
}: KubeconfigUser): string[] {
  const hasMore = uid !== '' || groups.length > 0 || Object.keys(extra).length > 0
  return hasMore && user === ''
    ? ['as-uid, as-groups and as-user-extra need a user to impersonate; add "as"']
    : []
}

/** Texts that become headers. */
function headerProblems({ token, impersonation }: KubeconfigUser): string[] {
  const { user, uid, groups, extra } = impersonation
  const named: readonly (readonly [string, readonly string[]])[] = [
    ['token', [token]],
    ['as', [user]],
    ['as-uid', [uid]],
    ['as-groups', groups],
    ['as-user-extra', Object.values(extra).flat()],
  ]
  return named
    .filter(([, texts]) => texts.some(text => !isHeaderText(text)))
    .map(([name]) => `${name} has characters that a header cannot have, such as a line break`)
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
