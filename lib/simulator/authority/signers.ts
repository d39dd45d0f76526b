/** The signers of kube-controller-manager, and what each of them signs: the rules and words of
 *  upstream's pkg/controller/certificates/signer and pkg/apis/certificates/helpers.go. */

import type { CertificateRequest } from '@watchglass/go'

type Check = (request: CertificateRequest, usages: ReadonlySet<string>) => string | undefined

const signers: Readonly<Record<string, Check>> = {
  'kubernetes.io/kube-apiserver-client': (_, usages) => {
    const wrong = [...usages].find(usage => !clientUsages.includes(usage))
    if (wrong !== undefined) return `invalid usage for client certificate: ${wrong}`
    return usages.has('client auth')
      ? undefined
      : 'missing required usage for client certificate: client auth'
  },
  'kubernetes.io/kube-apiserver-client-kubelet': (request, usages) =>
    problemOfNodes(request) ??
    allowsNo(request, ['dns', 'email', 'address', 'uri']) ??
    problemOfName(request) ??
    problemOfUsages(usages, 'client auth'),
  'kubernetes.io/kubelet-serving': (request, usages) =>
    problemOfNodes(request) ??
    problemWithoutNames(request) ??
    allowsNo(request, ['email', 'uri']) ??
    problemOfUsages(usages, 'server auth') ??
    problemOfName(request),
}

/** True for the name of a signer that signs here. */
export function isSigner(name: string): boolean {
  return Object.hasOwn(signers, name)
}

/** The reason for which a signer does not sign a request; undefined if it signs it. */
export function signerProblem(
  name: string,
  request: CertificateRequest,
  usages: readonly string[],
): string | undefined {
  return signers[name]?.(request, new Set(usages))
}

const clientUsages = ['digital signature', 'key encipherment', 'client auth']

function problemOfNodes({ organizations }: CertificateRequest): string | undefined {
  const isOfNodes = organizations.length === 1 && organizations[0] === 'system:nodes'
  return isOfNodes ? undefined : 'subject organization is not system:nodes'
}

function problemOfName({ commonName }: CertificateRequest): string | undefined {
  const isNode = commonName.startsWith('system:node:')
  return isNode ? undefined : 'subject common name does not begin with system:node:'
}

type NameType = CertificateRequest['alternativeNames'][number]['type']

function problemWithoutNames({ alternativeNames }: CertificateRequest): string | undefined {
  const isServer = alternativeNames.some(({ type }) => type === 'dns' || type === 'address')
  return isServer ? undefined : 'DNS or IP subjectAltName is required'
}

const shownTypes: Readonly<Record<NameType, string>> = {
  dns: 'DNS',
  email: 'Email',
  address: 'IP',
  uri: 'URI',
}

function allowsNo(
  { alternativeNames }: CertificateRequest,
  types: readonly NameType[],
): string | undefined {
  const wrong = types.find(type => alternativeNames.some(name => name.type === type))
  return wrong && `${shownTypes[wrong]} subjectAltNames are not allowed`
}

/** A key that is none of RSA needs no encipherment. */
function problemOfUsages(usages: ReadonlySet<string>, purpose: string): string | undefined {
  const wanted = ['digital signature', 'key encipherment', purpose].toSorted()
  const others = [...usages].filter(usage => usage !== 'key encipherment')
  const fits = others.length === 2 && others.every(usage => wanted.includes(usage))
  return fits ? undefined : `usages did not match [${wanted.join(' ')}]`
}
