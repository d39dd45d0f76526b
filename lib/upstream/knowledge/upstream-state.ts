/** What else decides how the upstream writes its objects, beside its version: its feature gates, and the types that it says it has. When
 *  one of them is another, what was found out about its answers has to be found out again. */

import { objectOf, textOf } from '../../base/untyped.ts'
import { groupVersionText, type Resource } from '../../kube/resources/resource.ts'
import type { Upstream } from '../upstream.ts'
import { ask, documentOf } from './ask.ts'

export class UpstreamState {
  readonly #upstream: Pick<Upstream, 'call'>
  /** `/metrics` as far as it tells of gates; empty if we may not read it. */
  #gates = ''
  /** By group version. */
  #openApi: ReadonlyMap<string, string> = new Map()

  constructor(upstream: Pick<Upstream, 'call'>) {
    this.#upstream = upstream
  }

  /** Asks for the gates, which change with a restart only: /metrics of a busy server is some megabytes. */
  async readGates(signal: AbortSignal): Promise<void> {
    const { code, body } = await ask(this.#upstream, { path: '/metrics', accept: '*/*', signal })
    if (code !== 200) return
    const lines = Buffer.from(body).toString().split('\n')
    this.#gates = lines.filter(line => line.startsWith('kubernetes_feature_enabled{')).join('\n')
  }

  /** Asks for the hashes of the OpenAPI documents: one for each group version, in a document of some kilobytes. */
  async readOpenApi(signal: AbortSignal): Promise<void> {
    const path = '/openapi/v3'
    const answer = await ask(this.#upstream, { path, signal })
    // A server that is not asked, or has none, goes without.
    if (answer.code === 403 || answer.code === 404) return
    const paths = objectOf(objectOf(documentOf(path, answer))['paths'])
    this.#openApi = new Map(
      Object.entries(paths).map(([name, document]) => [
        name,
        textOf(objectOf(document)['serverRelativeURL']),
      ]),
    )
  }

  /** Equal for as long as a resource is written in the same way, as far as this can be seen. */
  stateOf({ group, version }: Resource): string {
    const root = group === '' ? 'api' : 'apis'
    return `${this.#openApi.get(`${root}/${groupVersionText(group, version)}`)}\n${this.#gates}`
  }
}
