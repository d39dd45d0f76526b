/** Who may read what is served, as the options say it, and what must be given together. */

import { CacheError } from '../base/errors.ts'
import { authoritiesOf, fileOf, type KeyPair, keyPairOf } from './files.ts'
import type { Option } from './option.ts'
import type { OptionValues } from './load.ts'

export const authOptions: readonly Option[] = [
  {
    name: 'auth',
    value: 'MODE',
    help: 'Who may read. delegate (default with --upstream): whom the upstream allows it, asked with their own credentials. requestheader: whom it allows it, as a front proxy names them. none (default on loopback addresses without --upstream): everybody who can connect.',
  },
  {
    name: 'pass-identity',
    value: 'MODE',
    help: 'How users whom this server knows by a certificate or a front proxy are shown to the upstream: headers (X-Remote-*, with the certificate of a front proxy) or impersonate (with our own credentials).',
  },
  {
    name: 'front-proxy-cert',
    value: 'FILE',
    help: 'The certificate (PEM) of a front proxy that the upstream believes, for --pass-identity headers.',
  },
  { name: 'front-proxy-key', value: 'FILE', help: 'Its key (PEM).' },
  {
    name: 'authorized-ttl',
    value: 'SECONDS',
    fallback: '10',
    help: 'How long a yes of the upstream is kept. A change of RBAC objects that the mirror sees drops it at once.',
  },
  {
    name: 'unauthorized-ttl',
    value: 'SECONDS',
    fallback: '10',
    help: 'How long a no of the upstream is kept.',
  },
  {
    name: 'requestheader-client-ca',
    value: 'FILE',
    help: 'Authorities (PEM) of front proxies, whose X-Remote-* headers are believed. Left out with --auth requestheader, everything about front proxies is read from the ConfigMap extension-apiserver-authentication.',
  },
  {
    name: 'requestheader-allowed-names',
    value: 'NAMES',
    many: true,
    help: 'Common names of front proxies; any if it is left out.',
  },
  {
    name: 'requestheader-username-headers',
    value: 'NAMES',
    many: true,
    fallback: 'X-Remote-User',
    help: 'Headers in which a front proxy names the user, the first that is there counts.',
  },
  {
    name: 'requestheader-uid-headers',
    value: 'NAMES',
    many: true,
    fallback: 'X-Remote-Uid',
    help: 'Headers in which it tells the uid.',
  },
  {
    name: 'requestheader-group-headers',
    value: 'NAMES',
    many: true,
    fallback: 'X-Remote-Group',
    help: 'Headers in which it names groups.',
  },
  {
    name: 'requestheader-extra-headers-prefix',
    value: 'NAMES',
    many: true,
    fallback: 'X-Remote-Extra-',
    help: 'How headers begin in which it tells more.',
  },
  {
    name: 'review-server',
    value: 'URL',
    help: 'The API server that decides about access, if it is not the upstream: for a sidecar, kube-apiserver.',
  },
  {
    name: 'review-server-ca',
    value: 'FILE',
    help: 'Certificates (PEM) of the authorities that may sign its certificate.',
  },
  {
    name: 'review-server-token-file',
    value: 'FILE',
    help: 'Our own token for it. Read again when it changes.',
  },
  {
    name: 'audit-log',
    value: 'FILE',
    help: "Records what is answered here as JSON lines in the form of kube-apiserver's audit log (level Metadata); - is standard output. What passes to an upstream is recorded there.",
  },
]

/** Front proxies that are believed, as options name them. */
export interface FrontProxyPlan {
  /** A PEM file. */
  readonly authoritiesFile: string
  readonly allowedNames: readonly string[]
  readonly headers: Readonly<Record<'user' | 'uid' | 'group' | 'extraPrefix', readonly string[]>>
}

/** Where access is reviewed, if not by the upstream. */
export interface ReviewServerPlan {
  readonly url: URL
  readonly ca: Buffer | undefined
  readonly tokenFile: string | undefined
}

export interface AuthPlan {
  readonly mode: 'delegate' | 'requestheader'
  readonly allowMs: number
  readonly denyMs: number
  readonly passIdentity: 'headers' | 'impersonate' | undefined
  readonly frontProxies: FrontProxyPlan | 'config-map' | undefined
  /** Authorities of users' certificates: a PEM file. */
  readonly userAuthoritiesFile: string | undefined
  /** Shown to the upstream with users whom we know. */
  readonly frontProxy: KeyPair | undefined
  readonly reviewServer: ReviewServerPlan | undefined
}

/** What the options ask for; undefined: everybody may read everything. Refuses what would let in more than was meant. */
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
      throw invalid(`--auth "${mode}" is not delegate, requestheader or none`)
  }
  if (!hasUpstream && reviewServer === undefined) {
    throw invalid(`--auth ${mode} needs --upstream or --review-server: somebody has to decide`)
  }
  const userAuthoritiesFile = values.text('client-ca')
  const passIdentity = passIdentityOf(values)
  const knowsUsers = mode === 'requestheader' || userAuthoritiesFile !== undefined
  if (hasUpstream && knowsUsers && passIdentity === undefined) {
    const what = mode === 'requestheader' ? '--auth requestheader' : '--client-ca'
    throw invalid(`${what} with --upstream needs --pass-identity: how users are shown to it`)
  }
  return {
    mode,
    allowMs: secondsOf(values, 'authorized-ttl') * 1000,
    denyMs: secondsOf(values, 'unauthorized-ttl') * 1000,
    passIdentity,
    frontProxies: frontProxiesOf(values, mode),
    userAuthoritiesFile,
    frontProxy: frontProxyOf(values, passIdentity),
    reviewServer,
  }
}

function usualMode(hasUpstream: boolean, host: string): string {
  if (hasUpstream) return 'delegate'
  if (isLoopback(host)) return 'none'
  throw invalid(
    `whoever reaches ${host} could read everything: say who may with --auth, or listen on a loopback address`,
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
      '--auth requestheader needs --listen https://...: front proxies show certificates',
    )
  }
  if (authoritiesFile === undefined) return 'config-map'
  return {
    authoritiesFile,
    allowedNames: namesOf(values, 'requestheader-allowed-names'),
    headers: {
      user: namesOf(values, 'requestheader-username-headers'),
      uid: namesOf(values, 'requestheader-uid-headers'),
      group: namesOf(values, 'requestheader-group-headers'),
      extraPrefix: namesOf(values, 'requestheader-extra-headers-prefix'),
    },
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
  // Read again for each use, but what is not there at start is a mistake.
  fileOf(values, 'review-server-token-file')
  return {
    url: new URL(text),
    ca: authoritiesOf(values, 'review-server-ca'),
    tokenFile: values.text('review-server-token-file'),
  }
}

/** True for addresses that only this machine reaches. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
