/** The plan of authentication and authorization that the options ask for, or why they do not go
 *  together. */

import { CacheError, isLoopback } from '@watchglass/base'
import { defaultIssuer } from '../auth-options.ts'
import { authoritiesOf, fileOf, filesOf, type KeyPair, keyPairOf } from './files.ts'
import type { OptionValues } from '../../options/option-values.ts'

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

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
