/** The plan of authentication and authorization that the options ask for, or why they do not go
 *  together. */

import { isLoopback } from '@watchglass/base'
import { authoritiesOf, fileOf, filesOf, type KeyPair, keyPairOf } from './files.ts'
import { listed, type OptionValues } from '../../options/option-values.ts'
import {
  authOption,
  authorizedTtlOption,
  defaultIssuer,
  frontProxyAuthoritiesOption,
  frontProxyOptions,
  issuerOption,
  passIdentityOption,
  rbacOptions,
  reviewServerOption,
  reviewServerOptions,
  unauthorizedTtlOption,
} from '../../options/access.ts'
import { invalid } from '../../options/invalid.ts'
import { checkRules, valueOf, valuesOf } from '../../options/rules.ts'

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

/** The plan of `--auth rbac`; undefined for another mode. */
export function rbacPlanOf(values: OptionValues): RbacPlan | undefined {
  if (values.text('auth') !== 'rbac') {
    checkRules(values, rbacOptions)
    return undefined
  }
  checkRules(values, [authOption])
  return {
    userAuthoritiesFile: values.text('client-ca'),
    tokens: fileOf(values, 'token-auth-file')?.toString(),
    accounts: accountsOf(values),
  }
}

function accountsOf(values: OptionValues): AccountPlan {
  const issuers = valuesOf(values, issuerOption)
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
  const mode = valueOf(values, authOption) ?? usualMode(hasUpstream, host)
  const reviewServer = reviewServerOf(values)
  if (mode === 'none' || mode === 'rbac') return undefined
  if (!hasUpstream && reviewServer === undefined) {
    throw invalid(
      `--auth ${mode} needs --upstream or --review-server: the API server that decides who may read`,
    )
  }
  const userAuthoritiesFile = values.text('client-ca')
  const passIdentity = valueOf(values, passIdentityOption)
  const knowsUsers = mode === 'requestheader' || userAuthoritiesFile !== undefined
  if (hasUpstream && knowsUsers && passIdentity === undefined) {
    const what = mode === 'requestheader' ? '--auth requestheader' : '--client-ca'
    throw invalid(
      `${what} with --upstream needs --pass-identity: how the upstream learns who the user is`,
    )
  }
  return {
    mode,
    allowMs: valueOf(values, authorizedTtlOption) * 1000,
    denyMs: valueOf(values, unauthorizedTtlOption) * 1000,
    passIdentity,
    frontProxies: frontProxiesOf(values, mode),
    identityHeaders: identityHeadersOf(values),
    userAuthoritiesFile,
    frontProxy: frontProxyOf(values, passIdentity),
    reviewServer,
  }
}

function usualMode(hasUpstream: boolean, host: string): 'delegate' | 'none' {
  if (hasUpstream) return 'delegate'
  if (isLoopback(host)) return 'none'
  throw invalid(
    `refusing to listen on ${host} without authentication: anyone who can connect could read everything; set --auth, or listen on a loopback address`,
  )
}

function frontProxyOf(
  values: OptionValues,
  passIdentity: AuthPlan['passIdentity'],
): AuthPlan['frontProxy'] {
  checkRules(values, [passIdentityOption, ...frontProxyOptions])
  return passIdentity === 'headers'
    ? keyPairOf(values, 'front-proxy-cert', 'front-proxy-key')
    : undefined
}

function frontProxiesOf(values: OptionValues, mode: AuthPlan['mode']): AuthPlan['frontProxies'] {
  checkRules(values, [frontProxyAuthoritiesOption, authOption])
  if (mode === 'delegate') return undefined
  const authoritiesFile = values.text(frontProxyAuthoritiesOption.name)
  if (authoritiesFile === undefined) return 'config-map'
  return {
    authoritiesFile,
    allowedNames: listed(values, 'requestheader-allowed-names'),
    headers: identityHeadersOf(values),
  }
}

/** The headers in which front proxies name users, from the options. */
export function identityHeadersOf(values: OptionValues): FrontProxyPlan['headers'] {
  return {
    user: listed(values, 'requestheader-username-headers'),
    uid: listed(values, 'requestheader-uid-headers'),
    group: listed(values, 'requestheader-group-headers'),
    extraPrefix: listed(values, 'requestheader-extra-headers-prefix'),
  }
}

function reviewServerOf(values: OptionValues): ReviewServerPlan | undefined {
  const url = valueOf(values, reviewServerOption)
  checkRules(values, reviewServerOptions)
  if (url === undefined) return undefined
  // Read again for each use; a file that is missing at start is a mistake in the options.
  fileOf(values, 'review-server-token-file')
  authoritiesOf(values, 'review-server-ca')
  return {
    url,
    readCa: () => authoritiesOf(values, 'review-server-ca'),
    tokenFile: values.text('review-server-token-file'),
  }
}
