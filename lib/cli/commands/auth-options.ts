/** The options of authentication and authorization. */

import type { Option } from '../options/option.ts'

/** The issuer of a server that kubeadm has set up. */
export const defaultIssuer = 'https://kubernetes.default.svc.cluster.local'

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
