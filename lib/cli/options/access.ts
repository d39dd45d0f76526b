/** The options of authentication and authorization. */

import { isHttps } from './listening.ts'
import type { DefaultedOption, Option, ParsedOption } from './option.ts'
import { all, either, given, is, oneOf } from './rules.ts'
import { takesWrites } from './writes.ts'

/** The issuer of a server that kubeadm has set up. */
export const defaultIssuer = 'https://kubernetes.default.svc.cluster.local'

const rbac = is('auth', 'rbac')
const requestheader = is('auth', 'requestheader')

export const authOption: ParsedOption<'delegate' | 'requestheader' | 'rbac' | 'none'> = {
  name: 'auth',
  value: 'MODE',
  help: "Who may read. delegate: asks the upstream with the caller's own credentials (default with --upstream). requestheader: believes the user that a front proxy names, and asks the upstream with its own credentials. rbac: the roles and bindings in etcd decide about reads and writes, as in kube-apiserver, for users of --client-ca, --token-auth-file and service accounts; without --upstream, where writes are taken. none: authentication is off, anyone who can connect can read everything (default on loopback addresses without --upstream).",
  ...oneOf('delegate', 'requestheader', 'rbac', 'none'),
  needs: [
    {
      of: requestheader,
      that: isHttps,
      because: 'a front proxy authenticates with a client certificate',
    },
  ],
  excludes: [
    {
      of: rbac,
      that: given('upstream'),
      because: 'the upstream decides; use --auth delegate',
    },
    {
      of: rbac,
      that: given('review-server'),
      says: 'and --review-server exclude each other: one of them decides',
    },
  ],
}

/** The rule of --auth rbac, by which a server decides about its own writes. */
export const rbacOption: Option = {
  ...authOption,
  needs: [{ of: rbac, that: takesWrites, because: '--etcd embedded, or --writable' }],
  excludes: [],
}

export const issuerOption: DefaultedOption<string> = {
  name: 'service-account-issuer',
  value: 'URL',
  many: true,
  fallback: defaultIssuer,
  help: 'The issuer of tokens of service accounts, and their audience; tokens of further issuers are accepted, too. For --auth rbac.',
  // A name without a colon is a name; whatever has one is meant as an address.
  parse: text => (text === '' || !text.includes(':') || URL.canParse(text) ? text : undefined),
  wrong: 'is not a URL',
}

const tokenFileOption: Option = {
  name: 'token-auth-file',
  value: 'FILE',
  help: 'Users and their bearer tokens, for --auth rbac: lines of token,user,uid,"group1,group2", as kube-apiserver reads them.',
  needs: [{ that: rbac }],
}

const accountKeyOptions: readonly Option[] = [
  {
    name: 'service-account-signing-key-file',
    value: 'FILE',
    help: 'The private key (PEM; RSA, or of the curves P-256, P-384, P-521) that signs tokens of service accounts. Default: a new one at each start, so that a restart invalidates all tokens. For --auth rbac.',
    needs: [{ that: rbac }],
  },
  {
    name: 'service-account-key-file',
    value: 'FILE',
    many: true,
    help: 'Keys (PEM, public or private) that also verify tokens of service accounts, beside the signing key. For --auth rbac.',
    needs: [{ that: rbac }],
  },
]

/** The options that only `--auth rbac` has. */
export const rbacOptions: readonly Option[] = [tokenFileOption, ...accountKeyOptions]

export const passIdentityOption: ParsedOption<'headers' | 'impersonate'> = {
  name: 'pass-identity',
  value: 'MODE',
  help: "How to tell the upstream about users whom Watchglass authenticated by certificate or front proxy: headers (X-Remote-*, with --front-proxy-cert) or impersonate (Impersonate-* with Watchglass's own credentials).",
  ...oneOf('headers', 'impersonate'),
  needs: [
    {
      of: is('pass-identity', 'headers'),
      that: all(given('front-proxy-cert'), given('front-proxy-key')),
    },
  ],
}

/** The certificate with which the upstream believes our identity headers. */
export const frontProxyOptions: readonly Option[] = [
  {
    name: 'front-proxy-cert',
    value: 'FILE',
    help: "The client certificate (PEM) that the upstream accepts as a front proxy's. For --pass-identity headers.",
    needs: [
      {
        of: either('front-proxy-cert', 'front-proxy-key'),
        that: is('pass-identity', 'headers'),
        says: 'need --pass-identity headers',
      },
    ],
  },
  {
    name: 'front-proxy-key',
    value: 'FILE',
    help: 'The key (PEM) of --front-proxy-cert.',
  },
]

/** A whole hour is more than anybody should wait for a role to be taken away. */
function secondsIn(text: string): number | undefined {
  const seconds = Number(text)
  const isOne = text.trim() !== '' && Number.isFinite(seconds) && seconds >= 0 && seconds <= 3600
  return isOne ? seconds : undefined
}

export const authorizedTtlOption: DefaultedOption<number> = {
  name: 'authorized-ttl',
  value: 'SECONDS',
  fallback: '10',
  help: 'How long an allowed access review is cached. A change of RBAC objects that the mirror sees drops it at once.',
  parse: secondsIn,
  wrong: 'is not a number of seconds from 0 to 3600',
}

export const unauthorizedTtlOption: DefaultedOption<number> = {
  name: 'unauthorized-ttl',
  value: 'SECONDS',
  fallback: '10',
  help: 'How long a denied access review is cached.',
  parse: secondsIn,
  wrong: 'is not a number of seconds from 0 to 3600',
}

export const frontProxyAuthoritiesOption: Option = {
  name: 'requestheader-client-ca',
  value: 'FILE',
  help: 'Certificate authorities (PEM) for front proxies, whose X-Remote-* headers are believed. Without it, --auth requestheader reads all of these settings from the ConfigMap kube-system/extension-apiserver-authentication.',
  needs: [{ that: requestheader }],
}

export const reviewServerOption: ParsedOption<URL> = {
  name: 'review-server',
  value: 'URL',
  help: 'The API server that decides about access, when it is not the upstream. For a sidecar: kube-apiserver.',
  parse: text =>
    /^https?:\/\/[^/?#@]+\/?$/.test(text) && URL.canParse(text) ? new URL(text) : undefined,
  wrong: 'is not an address such as https://10.0.0.1:6443',
}

export const reviewServerOptions: readonly Option[] = [
  reviewServerOption,
  {
    name: 'review-server-ca',
    value: 'FILE',
    help: 'Certificate authorities (PEM) for its server certificate.',
    needs: [{ that: given('review-server') }],
  },
  {
    name: 'review-server-token-file',
    value: 'FILE',
    help: "Watchglass's own bearer token for it. Read again when it changes.",
    needs: [{ that: given('review-server') }],
  },
]

export const authOptions: readonly Option[] = [
  authOption,
  tokenFileOption,
  issuerOption,
  ...accountKeyOptions,
  passIdentityOption,
  ...frontProxyOptions,
  authorizedTtlOption,
  unauthorizedTtlOption,
  frontProxyAuthoritiesOption,
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
  ...reviewServerOptions,
  {
    name: 'audit-log',
    value: 'FILE',
    help: 'Writes an audit event for each request that the mirror answers: JSON lines as kube-apiserver writes them, level Metadata; - is standard output. Requests that go to the upstream are in its own audit log.',
  },
]
