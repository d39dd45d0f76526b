/** Builds authentication and authorization from the options: which API server reviews access, which
 *  certificate authorities are trusted, and how callers are presented to the upstream. */

import { readFile } from 'node:fs/promises'
import { CacheError, type Clock, isLoopback, type Logger } from '@watchglass/base'
import {
  type AccountPlan,
  type AuthPlan,
  authPlanOf,
  identityHeadersOf,
  type RbacPlan,
  rbacPlanOf,
  type ReviewServerPlan,
} from './auth-plan.ts'
import { tlsFilesOf } from './listen.ts'
import type { OptionValues } from '../../options/option-values.ts'
import {
  type AuthorizationOptions,
  Callers,
  isIdentityHeader,
  requireAuthorities,
  type ReviewServer,
  systemClock,
} from '@watchglass/cache'
import {
  headerNames,
  Trust,
  trustConfigMapPath,
  trustFromConfigMap,
  type TrustTexts,
} from './trust.ts'
import type { ClusterAccessOptions, StaticTokens } from '@watchglass/simulator'
import type { BalancedUpstream, ServerAccess, UpstreamOptions } from '@watchglass/proxy'
import { load } from '../../compose/loaded-code.ts'
import type { ListeningOptions } from '../../compose/service-options.ts'
import { oneUser, upstreamFrom } from './upstream.ts'

/** The options of a service that access decides: its upstream, its certificate, and who may
 *  read. */
export interface Guarded extends Pick<ListeningOptions, 'tls' | 'guardedHosts'> {
  readonly upstream: UpstreamOptions | undefined
  /** Undefined: anyone who can connect. */
  readonly authorization: AuthorizationOptions | undefined
  /** Roles and bindings decide; undefined: they do not. */
  readonly rbac: ClusterAccessOptions | undefined
  /** Call it when the service has stopped. */
  stop(): Promise<void>
}

/** Builds what the command line asks for. Nothing is served before the trusted authorities have
 *  been read. */
export async function startGuarded(
  values: OptionValues,
  host: string,
  logger: Logger,
  user?: ServerAccess,
): Promise<Guarded> {
  const rbac = rbacPlanOf(values)
  if (rbac !== undefined) return startRbac(rbac, { values, host, logger })
  const plan = authPlanOf(values, host)
  const isFrontProxy = plan?.frontProxy !== undefined
  const upstream = await upstreamFrom(values, logger, { isFrontProxy, user })
  const tls = tlsFilesOf(values)
  if (plan === undefined) {
    if (!isLoopback(host)) {
      logger.warn('authentication is off: anyone who can connect can read everything', { host })
    }
    const configured = identityHeadersOf(values)
    const names = headerNames(configured)
    // X-Remote-* never passes, whatever is configured.
    const isIdentity = Object.values(configured).some(({ length }) => length > 0)
      ? (name: string): boolean => isIdentityHeader(name, names)
      : undefined
    return {
      upstream: upstream && {
        ...upstream,
        isIdentityHeader: isIdentity,
        // Whoever may connect is the user of the kubeconfig.
        ...(user === undefined ? {} : oneUser),
      },
      authorization: undefined,
      rbac: undefined,
      tls,
      guardedHosts: isLoopback(host) ? values.all('allowed-host') : undefined,
      stop: async () => {},
    }
  }
  warnOfTokens({ tls, host, logger })
  const canPass = upstream !== undefined
  const parts = { upstream: upstream?.servers, canPass, clock: systemClock, logger }
  const access = await startAccess(plan, parts)
  const { authorization, authorities } = access
  const { callers } = authorization
  return {
    authorization,
    rbac: undefined,
    upstream: upstream && {
      ...upstream,
      passed: request => callers.passed(request),
      isIdentityHeader: name => access.isIdentityHeader(name),
    },
    tls: tls && { ...tls, clientCaFile: undefined, authorities },
    stop: () => access.stop(),
  }
}

function warnOfTokens({
  tls,
  host,
  logger,
}: Pick<Guarded, 'tls'> & { readonly host: string; readonly logger: Logger }): void {
  if (tls !== undefined || isLoopback(host)) return
  logger.warn('tokens travel unencrypted: listen on https://, or on a loopback address', { host })
}

interface RbacParts {
  readonly values: OptionValues
  readonly host: string
  readonly logger: Logger
}

/** Access control by roles and bindings, with no other API server. */
async function startRbac(
  { userAuthoritiesFile: file, tokens, accounts }: RbacPlan,
  { values, host, logger }: RbacParts,
): Promise<Guarded> {
  const clock = systemClock
  const tls = tlsFilesOf(values)
  warnOfTokens({ tls, host, logger })
  const known = readTokens((await load.staticTokens()).StaticTokens, tokens)
  await checkAccountKeys(accounts)
  const userAuthorities = async (): Promise<string> =>
    file === undefined ? '' : readAuthorities('--client-ca', file)
  const read = async (): Promise<TrustTexts> => ({
    userAuthorities: await userAuthorities(),
    frontProxies: undefined,
  })
  const trust = await Trust.start({ read, clock, logger })
  const callers = new Callers({
    clock,
    userAuthorities: trust.userAuthorities,
    frontProxies: () => undefined,
    passIdentity: undefined,
  })
  return {
    upstream: undefined,
    authorization: undefined,
    rbac: { callers, tokens: known, accountKeys: accounts },
    tls: tls && { ...tls, clientCaFile: undefined, authorities: trust.pems },
    guardedHosts: undefined,
    stop: async () => trust.stop(),
  }
}

/** A file that has no key is refused at the start, and with its option. */
async function checkAccountKeys(accounts: AccountPlan): Promise<void> {
  const { readAccountKeys } = await load.accountKeys()
  const { issuers, signingPem, checkingPems } = accounts
  const check = (option: string, files: Omit<AccountPlan, 'issuers'>): void => {
    try {
      readAccountKeys({ issuers, ...files }, () => '')
    } catch (error) {
      const { message } = CacheError.from(error, 'invalid_request')
      throw new CacheError('invalid_request', `--${option} ${message}`, { cause: error })
    }
  }
  check('service-account-signing-key-file', { signingPem, checkingPems: [] })
  check('service-account-key-file', { signingPem: undefined, checkingPems })
}

function readTokens(
  Tokens: typeof StaticTokens,
  file: string | undefined,
): ClusterAccessOptions['tokens'] {
  try {
    return new Tokens(file)
  } catch (error) {
    const { message } = CacheError.from(error, 'invalid_request')
    throw new CacheError('invalid_request', `--token-auth-file: ${message}`, { cause: error })
  }
}

/** The parts of access control that the rest of the service needs. */
export interface AccessControl {
  readonly authorization: AuthorizationOptions
  /** The authorities of client certificates, of users and of front proxies: PEM. */
  readonly authorities: () => readonly string[]
  /** True for the configured identity headers, which never pass to the upstream. */
  readonly isIdentityHeader: (name: string) => boolean
  stop(): Promise<void>
}

export interface AccessParts {
  /** The upstream that requests pass to, if there is one. */
  readonly upstream: ReviewServer | undefined
  readonly canPass: boolean
  readonly clock: Clock
  readonly logger: Logger
}

/** Reads the trusted authorities, and connects to the API server that reviews access. */
export async function startAccess(plan: AuthPlan, parts: AccessParts): Promise<AccessControl> {
  const { clock, logger, canPass, upstream } = parts
  const own =
    plan.reviewServer === undefined ? undefined : await reviewServerOf(plan.reviewServer, parts)
  own?.followTls()
  const server = own ?? upstream
  if (server === undefined) {
    throw new CacheError('invalid_request', 'no API server decides about access')
  }
  const trust = await Trust.start({ read: () => readTrust(plan, server), clock, logger })
  const configured = headerNames(plan.identityHeaders)
  const identityHeaders = (): typeof configured => trust.frontProxies()?.headers ?? configured
  const callers = new Callers({
    clock,
    userAuthorities: trust.userAuthorities,
    frontProxies: trust.frontProxies,
    identityHeaders,
    passIdentity: plan.passIdentity,
  })
  const { mode, allowMs, denyMs } = plan
  return {
    authorization: { mode, canPass, server, callers, allowMs, denyMs },
    authorities: trust.pems,
    isIdentityHeader: name =>
      [configured, identityHeaders()].some(names => isIdentityHeader(name, names)),
    async stop() {
      trust.stop()
      await own?.stop()
    },
  }
}

async function reviewServerOf(
  { url, readCa, tokenFile }: ReviewServerPlan,
  { clock, logger }: AccessParts,
): Promise<BalancedUpstream> {
  const { upstreamServers } = await load.upstreamServers()
  return upstreamServers({
    urls: [url],
    readTls: () => ({ ca: readCa() }),
    what: 'authorities of the review server',
    tokenFile,
    clock,
    logger,
  })
}

async function readTrust(plan: AuthPlan, server: ReviewServer): Promise<TrustTexts> {
  const { frontProxies, userAuthoritiesFile } = plan
  const userAuthorities =
    userAuthoritiesFile === undefined
      ? ''
      : await readAuthorities('--client-ca', userAuthoritiesFile)
  if (frontProxies === undefined) return { userAuthorities, frontProxies }
  if (frontProxies !== 'config-map') {
    const { authoritiesFile, allowedNames, headers } = frontProxies
    const authorities = await readAuthorities('--requestheader-client-ca', authoritiesFile)
    return {
      userAuthorities,
      frontProxies: { authorities, allowedNames, headers: headerNames(headers) },
    }
  }
  const published = trustFromConfigMap(await readConfigMap(server))
  if (published.frontProxies === undefined) {
    throw new CacheError('source_failed', `${trustConfigMapPath} names no front proxies`)
  }
  return {
    userAuthorities: [userAuthorities, published.userAuthorities].join('\n').trim(),
    frontProxies: published.frontProxies,
  }
}

async function readConfigMap(server: ReviewServer): Promise<string> {
  const signal = new AbortController().signal
  const headers = { accept: 'application/json' }
  const { code, body } = await server.call(
    { method: 'GET', path: trustConfigMapPath, headers, signal },
    'ourselves',
  )
  if (code === 200) return Buffer.from(body).toString('utf8')
  throw new CacheError('source_failed', `${trustConfigMapPath} was answered with ${code}`)
}

async function readAuthorities(option: string, file: string): Promise<string> {
  let pem: string
  try {
    pem = await readFile(file, 'utf8')
  } catch (error) {
    const { message } = CacheError.from(error, 'invalid_request')
    throw new CacheError('invalid_request', `${option} cannot be read: ${message}`, {
      cause: error,
    })
  }
  requireAuthorities(`${option} ${file}`, pem)
  return pem
}
