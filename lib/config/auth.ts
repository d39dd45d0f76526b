/** The options of authentication and authorization, their dependencies, and the plan made from
 *  them. */

import { CacheError } from '../base/errors.ts'
import { authoritiesOf, fileOf, filesOf, type KeyPair, keyPairOf } from './files.ts'
import type { Option } from './option.ts'
import type { OptionValues } from './option-values.ts'

/** The issuer of a server that kubeadm has set up. */
const defaultIssuer = 'https://kubernetes.default.svc.cluster.local'

export const authOptions: readonly Option[] = [
  {
    name: 'auth',
    value: 'MODE',
    choices: ['delegate', 'requestheader', 'rbac', 'none'],
    help: "Who may read. delegate: asks the upstream with the caller's own credentials (default with --upstream). requestheader: believes the user that a front proxy names, and asks the upstream with its own credentials. rbac: the roles and bindings in etcd decide about reads and writes, as in kube-apiserver, for users of --client-ca, --token-auth-file and service accounts; without --upstream, where writes are taken. none: authentication is off, anyone who can connect can read everything (default on loopback addresses without --upstream).",
  },
  {
    name: 'token-auth-file',
    value: 'FILE',
    help: 'Users and their bearer tokens, for --auth rbac: lines of token,user,uid,"group1,group2", as kube-apiserver reads them.',
  },
  {
    name: 'service-account-issuer',
    value: 'URL',
    many: true,
    fallback: defaultIssuer,
    help: 'The issuer in tokens of service accounts, and for whom they are; tokens of further ones are believed, too. For --auth rbac.',
  },
  {
    name: 'service-account-signing-key-file',
    value: 'FILE',
    help: 'The private key (PEM; RSA, or of the curves P-256, P-384, P-521) that signs tokens of service accounts. Default: one of the process, so that a restart makes all tokens void. For --auth rbac.',
  },
  {
    name: 'service-account-key-file',
    value: 'FILE',
    many: true,
    help: 'Keys (PEM, public or private) by which tokens of service accounts are checked beside the one that signs. For --auth rbac.',
  },
  {
    name: 'pass-identity',
    value: 'MODE',
    choices: ['headers', 'impersonate'],
    help: "How to tell the upstream about users whom Watchglass authenticated by certificate or front proxy: headers (X-Remote-*, with --front-proxy-cert) or impersonate (Impersonate-* with Watchglass's own credentials).",
  },
  {
    name: 'front-proxy-cert',
    value: 'FILE',
    help: "The client certificate (PEM) that the upstream accepts as a front proxy's. For --pass-identity headers.",
  },
  { name: 'front-proxy-key', value: 'FILE', help: 'The key (PEM) of --front-proxy-cert.' },
  {
    name: 'authorized-ttl',
    value: 'SECONDS',
    fallback: '10',
    help: 'How long an allowed access review is cached. A change of RBAC objects that the mirror sees drops it at once.',
  },
  {
    name: 'unauthorized-ttl',
    value: 'SECONDS',
    fallback: '10',
    help: 'How long a denied access review is cached.',
  },
  {
    name: 'requestheader-client-ca',
    value: 'FILE',
    help: 'Certificate authorities (PEM) for front proxies, whose X-Remote-* headers are believed. Without it, --auth requestheader reads all of these settings from the ConfigMap kube-system/extension-apiserver-authentication.',
  },
  {
    name: 'requestheader-allowed-names',
    value: 'NAMES',
    many: true,
    help: "Common names that a front proxy's certificate may have. Default: any.",
  },
  {
    name: 'requestheader-username-headers',
    value: 'NAMES',
    many: true,
    fallback: 'X-Remote-User',
    help: 'Headers with the name of the user. The first one present counts. The upstream is told the name in the first one (--pass-identity headers); clients cannot send any of them.',
  },
  {
    name: 'requestheader-uid-headers',
    value: 'NAMES',
    many: true,
    fallback: 'X-Remote-Uid',
    help: 'Headers with the UID of the user.',
  },
  {
    name: 'requestheader-group-headers',
    value: 'NAMES',
    many: true,
    fallback: 'X-Remote-Group',
    help: 'Headers with the groups of the user.',
  },
  {
    name: 'requestheader-extra-headers-prefix',
    value: 'NAMES',
    many: true,
    fallback: 'X-Remote-Extra-',
    help: 'Prefixes of the headers with extra attributes of the user.',
  },
  {
    name: 'review-server',
    value: 'URL',
    help: 'The API server that decides about access, when it is not the upstream. For a sidecar: kube-apiserver.',
  },
  {
    name: 'review-server-ca',
    value: 'FILE',
    help: 'Certificate authorities (PEM) for its server certificate.',
  },
  {
    name: 'review-server-token-file',
    value: 'FILE',
    help: "Watchglass's own bearer token for it. Read again when it changes.",
  },
  {
    name: 'audit-log',
    value: 'FILE',
    help: 'Writes an audit event for each request that the mirror answers: JSON lines as kube-apiserver writes them, level Metadata; - is standard output. Requests that go to the upstream are in its own audit log.',
  },
]

/** The trusted front proxies, as options name them. */
export interface FrontProxyPlan {
  /** A PEM file. */
  readonly authoritiesFile: string
  readonly allowedNames: readonly string[]
  readonly headers: Readonly<Record<'user' | 'uid' | 'group' | 'extraPrefix', readonly string[]>>
}

/** The server that reviews access, if the upstream does not. */
export interface ReviewServerPlan {
  readonly url: URL
  /** Reads the authorities, which may be renewed. */
  readonly readCa: () => Buffer | undefined
  readonly tokenFile: string | undefined
}

export interface AuthPlan {
  readonly mode: 'delegate' | 'requestheader'
  readonly allowMs: number
  readonly denyMs: number
  readonly passIdentity: 'headers' | 'impersonate' | undefined
  readonly frontProxies: FrontProxyPlan | 'config-map' | undefined
  /** The identity headers: the upstream gets users in them, and clients cannot send them. With a
   *  ConfigMap, those that it names. */
  readonly identityHeaders: FrontProxyPlan['headers']
  /** Authorities of users' certificates: a PEM file. */
  readonly userAuthoritiesFile: string | undefined
  /** The certificate with which the upstream believes our identity headers. */
  readonly frontProxy: KeyPair | undefined
  readonly reviewServer: ReviewServerPlan | undefined
}

/** The options of access control by roles and bindings. */
export interface RbacPlan {
  /** Authorities of users' certificates: a PEM file. */
  readonly userAuthoritiesFile: string | undefined
  /** The contents of the file with tokens. */
  readonly tokens: string | undefined
  readonly accounts: AccountPlan
}

/** Tokens of service accounts. */
export interface AccountPlan {
  readonly issuers: readonly string[]
  /** PEM; undefined: the key of the process. */
  readonly signingPem: string | undefined
  readonly checkingPems: readonly string[]
}

/** Options that only `--auth rbac` has. */
const rbacOnly = ['token-auth-file', 'service-account-signing-key-file', 'service-account-key-file']

/** The plan of `--auth rbac`; undefined for another mode. */
export function rbacPlanOf(values: OptionValues): RbacPlan | undefined {
  if (values.text('auth') !== 'rbac') {
    const given = rbacOnly.find(name => values.all(name).length > 0)
    if (given === undefined) return undefined
    throw invalid(`--${given} needs --auth rbac`)
  }
  if (values.all('upstream').length > 0) {
    throw invalid('--auth rbac goes without --upstream: the upstream decides; use --auth delegate')
  }
  if (values.text('review-server') !== undefined) {
    throw invalid('--auth rbac and --review-server exclude each other: one of them decides')
  }
  return {
    userAuthoritiesFile: values.text('client-ca'),
    tokens: fileOf(values, 'token-auth-file')?.toString(),
    accounts: accountsOf(values),
  }
}

function accountsOf(values: OptionValues): AccountPlan {
  const issuers = values.all('service-account-issuer')
  for (const issuer of issuers) {
    // A name without a colon is a name; whatever has one is meant as an address.
    if (issuer !== '' && (!issuer.includes(':') || URL.canParse(issuer))) continue
    throw invalid(`--service-account-issuer "${issuer}" is not a URL`)
  }
  return {
    issuers: issuers.length === 0 ? [defaultIssuer] : issuers,
    signingPem: fileOf(values, 'service-account-signing-key-file')?.toString(),
    checkingPems: filesOf(values, 'service-account-key-file').map(String),
  }
}

/** The plan that the options ask for; undefined if authentication is off. Throws if the options
 *  would give access to more users than their author can have intended. */
export function authPlanOf(values: OptionValues, host: string): AuthPlan | undefined {
  const hasUpstream = values.all('upstream').length > 0
  const mode = values.text('auth') ?? usualMode(hasUpstream, host)
  const reviewServer = reviewServerOf(values)
  switch (mode) {
    case 'none':
      return undefined
    case 'delegate':
    case 'requestheader':
      break
    default:
      throw invalid(`--auth "${mode}" is not delegate, requestheader, rbac or none`)
  }
  if (!hasUpstream && reviewServer === undefined) {
    throw invalid(
      `--auth ${mode} needs --upstream or --review-server: the API server that decides who may read`,
    )
  }
  const userAuthoritiesFile = values.text('client-ca')
  const passIdentity = passIdentityOf(values)
  const knowsUsers = mode === 'requestheader' || userAuthoritiesFile !== undefined
  if (hasUpstream && knowsUsers && passIdentity === undefined) {
    const what = mode === 'requestheader' ? '--auth requestheader' : '--client-ca'
    throw invalid(
      `${what} with --upstream needs --pass-identity: how the upstream learns who the user is`,
    )
  }
  return {
    mode,
    allowMs: secondsOf(values, 'authorized-ttl') * 1000,
    denyMs: secondsOf(values, 'unauthorized-ttl') * 1000,
    passIdentity,
    frontProxies: frontProxiesOf(values, mode),
    identityHeaders: identityHeadersOf(values),
    userAuthoritiesFile,
    frontProxy: frontProxyOf(values, passIdentity),
    reviewServer,
  }
}

function usualMode(hasUpstream: boolean, host: string): string {
  if (hasUpstream) return 'delegate'
  if (isLoopback(host)) return 'none'
  throw invalid(
    `refusing to listen on ${host} without authentication: anyone who can connect could read everything; set --auth, or listen on a loopback address`,
  )
}

function passIdentityOf(values: OptionValues): AuthPlan['passIdentity'] {
  const text = values.text('pass-identity')
  switch (text) {
    case undefined:
    case 'headers':
    case 'impersonate':
      return text
    default:
      throw invalid(`--pass-identity "${text}" is not headers or impersonate`)
  }
}

function frontProxyOf(
  values: OptionValues,
  passIdentity: AuthPlan['passIdentity'],
): AuthPlan['frontProxy'] {
  const [certFile, keyFile] = [values.text('front-proxy-cert'), values.text('front-proxy-key')]
  if (passIdentity !== 'headers') {
    if (certFile === undefined && keyFile === undefined) return undefined
    throw invalid('--front-proxy-cert and --front-proxy-key need --pass-identity headers')
  }
  if (certFile === undefined || keyFile === undefined) {
    throw invalid('--pass-identity headers needs --front-proxy-cert and --front-proxy-key')
  }
  return keyPairOf(values, 'front-proxy-cert', 'front-proxy-key')
}

function frontProxiesOf(values: OptionValues, mode: AuthPlan['mode']): AuthPlan['frontProxies'] {
  const authoritiesFile = values.text('requestheader-client-ca')
  if (mode === 'delegate') {
    if (authoritiesFile === undefined) return undefined
    throw invalid('--requestheader-client-ca needs --auth requestheader')
  }
  if (values.text('listen')?.startsWith('https:') !== true) {
    throw invalid(
      '--auth requestheader needs --listen https://...: a front proxy authenticates with a client certificate',
    )
  }
  if (authoritiesFile === undefined) return 'config-map'
  return {
    authoritiesFile,
    allowedNames: namesOf(values, 'requestheader-allowed-names'),
    headers: identityHeadersOf(values),
  }
}

/** The headers in which front proxies name users, from the options. */
export function identityHeadersOf(values: OptionValues): FrontProxyPlan['headers'] {
  return {
    user: namesOf(values, 'requestheader-username-headers'),
    uid: namesOf(values, 'requestheader-uid-headers'),
    group: namesOf(values, 'requestheader-group-headers'),
    extraPrefix: namesOf(values, 'requestheader-extra-headers-prefix'),
  }
}

function namesOf(values: OptionValues, name: string): string[] {
  const names = values.all(name).flatMap(text => text.split(','))
  return names.map(text => text.trim()).filter(text => text !== '')
}

function secondsOf(values: OptionValues, name: string): number {
  const text = values.text(name) ?? ''
  const seconds = Number(text)
  if (text.trim() === '' || !Number.isFinite(seconds) || seconds < 0 || seconds > 3600) {
    throw invalid(`--${name} "${text}" is not a number of seconds from 0 to 3600`)
  }
  return seconds
}

function reviewServerOf(values: OptionValues): ReviewServerPlan | undefined {
  const text = values.text('review-server')
  if (text === undefined) {
    const given = ['review-server-ca', 'review-server-token-file'].find(
      name => values.text(name) !== undefined,
    )
    if (given !== undefined) throw invalid(`--${given} needs --review-server`)
    return undefined
  }
  if (!/^https?:\/\/[^/?#@]+\/?$/.test(text) || !URL.canParse(text)) {
    throw invalid(`--review-server "${text}" is not an address such as https://10.0.0.1:6443`)
  }
  // Read again for each use; a file that is missing at start is a mistake in the options.
  fileOf(values, 'review-server-token-file')
  authoritiesOf(values, 'review-server-ca')
  return {
    url: new URL(text),
    readCa: () => authoritiesOf(values, 'review-server-ca'),
    tokenFile: values.text('review-server-token-file'),
  }
}

/** True for addresses that only this machine can reach. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
