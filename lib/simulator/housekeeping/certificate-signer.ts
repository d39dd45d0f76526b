/** Signs approved requests for certificates, as kube-controller-manager does
 *  (pkg/controller/certificates/signer). A request that does not fit its signer fails; those of
 *  signers that are others' are left to them. */

import type { Clock, Key } from '@watchglass/base'
import type { KeyValue } from '@watchglass/store'
import { parseRequest, requestProblem, textFromMilliseconds } from '@watchglass/go'
import { isSigner, signerProblem } from '../authority/signers.ts'
import type { SigningAuthority } from '../authority/signing-authority.ts'
import type { ApiPlace, ClusterApi } from '../runtime/cluster-api.ts'

export interface CertificateSignerOptions {
  readonly cluster: ClusterApi
  /** The prefix of keys. */
  readonly signingRequests: Key
  readonly authority: SigningAuthority
  /** The object as the API shows it, in plain values; undefined if it cannot be shown. */
  readonly plainOf: (place: ApiPlace, entry: KeyValue) => unknown
  readonly clock: Clock
  /** `work` is to be called with the key soon. */
  readonly lookAt: (key: Key) => void
}

interface SigningRequest {
  readonly spec: {
    readonly request: string
    readonly signerName: string
    readonly usages?: readonly string[]
    readonly expirationSeconds?: number
  }
  readonly status?: {
    readonly certificate?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

export class CertificateSigner {
  readonly #options: CertificateSignerOptions

  constructor(options: CertificateSignerOptions) {
    this.#options = options
  }

  changed(keyspace: Key, { key }: { readonly key: Key }): void {
    if (keyspace === this.#options.signingRequests) this.#options.lookAt(key)
  }

  async work(key: Key): Promise<void> {
    const { cluster, authority, clock, plainOf } = this.#options
    const place = cluster.placeOf(key)
    const entry = await cluster.read(key)
    if (place === undefined || entry === undefined) return
    const object = plainOf(place, entry) as SigningRequest | undefined
    if (object === undefined || !isToBeSigned(object)) return
    const { spec, status: { conditions = [] } = {} } = object
    const { request: text, usages = [], signerName, expirationSeconds } = spec
    // A change that came meanwhile is a conflict: it is looked at again.
    const metadata = { resourceVersion: String(entry.modRevision) }
    const write = (status: object): Promise<unknown> =>
      cluster.patch(place, { metadata, status }, 'status')
    const request = parseRequest(text)
    const problem = requestProblem(text)
    if (typeof request === 'string' || problem !== undefined) return
    const nowMs = clock.wallMs()
    const refusal = signerProblem(signerName, request, usages)
    if (refusal !== undefined) {
      const failed = {
        type: 'Failed',
        status: 'True',
        reason: 'SignerValidationFailure',
        message: refusal,
        lastUpdateTime: textFromMilliseconds(nowMs),
      }
      await write({ conditions: [...conditions, failed] })
      return
    }
    const signed = authority.sign({ request, usages, expirationSeconds, nowMs })
    if (typeof signed !== 'string') throw signed
    await write({ certificate: Buffer.from(signed).toString('base64') })
  }
}

/** Approved, neither denied nor failed, and not signed yet. */
function isToBeSigned({ spec, status = {} }: SigningRequest): boolean {
  const { certificate = '', conditions = [] } = status
  const has = (type: string): boolean => conditions.some(condition => condition.type === type)
  const hasFailed = conditions.some(({ type, status }) => type === 'Failed' && status === 'True')
  const isApproved = has('Approved') && !has('Denied')
  return isSigner(spec.signerName) && certificate === '' && isApproved && !hasFailed
}
