/** The objects that each namespace has: the ServiceAccount `default`, and the ConfigMap by which
 *  pods know the server. */

import type { ApiClient } from '../runtime/api-client.ts'
import type { ApiPlace } from '../runtime/cluster-api.ts'

export interface NamespaceBasicsOptions {
  readonly cluster: ApiClient
  /** Certificates (PEM) of whoever signs the certificate of the server. */
  readonly rootAuthority: string
  /** The authority has signed nothing and is another one after each start: a stored one stays. */
  readonly isMadeUp?: boolean | undefined
}

export const account = 'default'
export const authorities = 'kube-root-ca.crt'

const authoritiesMember = 'ca.crt'
const pemStart = '-----BEGIN CERTIFICATE-----'
const description =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal ' +
  'endpoints such as the internal service IP or kubernetes.default.svc. No other usage is ' +
  'guaranteed across distributions of Kubernetes clusters.'

export class NamespaceBasics {
  readonly #options: NamespaceBasicsOptions

  constructor(options: NamespaceBasicsOptions) {
    this.#options = options
  }

  /** Makes what is missing in a namespace, and puts right what was changed. */
  async makeIn(namespace: string): Promise<void> {
    await this.#ensureAccount(namespace)
    await this.#ensureAuthorities(namespace)
  }

  async #ensureAccount(namespace: string): Promise<void> {
    const { cluster } = this.#options
    const place = this.#placeOf('serviceaccounts', namespace, account)
    if (place === undefined || (await cluster.stored(place)) !== undefined) return
    await cluster.createIfMissing(place, { metadata: { name: account, namespace } })
  }

  async #ensureAuthorities(namespace: string): Promise<void> {
    const { cluster, rootAuthority, isMadeUp } = this.#options
    const place = this.#placeOf('configmaps', namespace, authorities)
    if (place === undefined) return
    const data = { [authoritiesMember]: rootAuthority }
    const annotations = { 'kubernetes.io/description': description }
    const entry = await cluster.stored(place)
    if (entry === undefined) {
      const metadata = { name: authorities, namespace, annotations }
      await cluster.createIfMissing(place, { metadata, data })
      return
    }
    const shown = cluster.plainOf(place.resource, entry) as ConfigMapData | undefined
    const known = shown?.data ?? {}
    const others = Object.keys(known).filter(name => name !== authoritiesMember)
    const current = known[authoritiesMember]
    const isRight =
      current === rootAuthority || (isMadeUp === true && current?.startsWith(pemStart) === true)
    if (others.length === 0 && isRight) return
    const without = Object.fromEntries(others.map(name => [name, null]))
    await cluster.patch(place, { metadata: { annotations }, data: { ...without, ...data } })
  }

  #placeOf(name: string, namespace: string, object: string): ApiPlace | undefined {
    const resource = this.#options.cluster.resourceOf('', 'v1', name)
    return resource && { resource, namespace, name: object }
  }
}

interface ConfigMapData {
  readonly data?: Readonly<Record<string, string>>
}
