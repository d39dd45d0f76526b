/** Who of several candidates leads: the holder of a Lease, as client-go's leader election has it. A
 *  candidate trusts only its own clock: a lease that it has not seen change for as long as the
 *  lease lasts is free. */

import { setTimeout as sleep } from 'node:timers/promises'
import {
  ApiException,
  CoordinationV1Api,
  type KubeConfig,
  type V1Lease,
  type V1LeaseSpec,
  V1MicroTime,
} from '@kubernetes/client-node'
import { withTimeout } from './requests.ts'
import { patient } from '../../support/patience.ts'

const leaseSeconds = Math.ceil(patient(2_000) / 1_000)
/** A leader that could not renew for so long leads no more; shorter than the lease, so that no
 *  other one leads yet. */
const renewDeadlineMs = leaseSeconds * 750
const retryMs = 250
const namespace = 'default'

export class LeaderElection {
  readonly #api: CoordinationV1Api
  readonly #name: string
  readonly #identity: string
  #seen: V1Lease | undefined
  #seenAt = 0

  constructor(config: KubeConfig, name: string, identity: string) {
    this.#api = config.makeApiClient(CoordinationV1Api)
    this.#name = name
    this.#identity = identity
  }

  /** Resolves when this candidate leads. */
  async won(): Promise<void> {
    while (!(await this.#acquireOrRenew())) await sleep(retryMs)
  }

  /** Renews; resolves when this candidate leads no more. */
  async lost(): Promise<void> {
    let renewedAt = performance.now()
    while (performance.now() - renewedAt < renewDeadlineMs) {
      await sleep(retryMs)
      const askedAt = performance.now()
      if (await this.#acquireOrRenew()) renewedAt = askedAt
    }
  }

  async #acquireOrRenew(): Promise<boolean> {
    try {
      const lease = await this.#read()
      if (lease === undefined) {
        const body = { metadata: { name: this.#name, namespace }, spec: this.#spec(undefined) }
        this.#see(await this.#api.createNamespacedLease({ namespace, body }, withTimeout()))
        return true
      }
      const hasChanged = lease.metadata?.resourceVersion !== this.#seen?.metadata?.resourceVersion
      if (hasChanged) this.#see(lease)
      const isMine = lease.spec?.holderIdentity === this.#identity
      const isOver = performance.now() - this.#seenAt >= leaseSeconds * 1_000
      if (!isMine && !isOver) return false
      // With the resourceVersion that was read: of two candidates one gets a conflict.
      const { metadata = {} } = lease
      const body = { metadata, spec: this.#spec(lease) }
      this.#see(
        await this.#api.replaceNamespacedLease(
          { name: this.#name, namespace, body },
          withTimeout(),
        ),
      )
      return true
    } catch {
      // A fault, or another candidate was faster: asked again after a moment, and given up at the
      // deadline.
      return false
    }
  }

  async #read(): Promise<V1Lease | undefined> {
    try {
      return await this.#api.readNamespacedLease({ name: this.#name, namespace }, withTimeout())
    } catch (error) {
      if (error instanceof ApiException && error.code === 404) return undefined
      throw error
    }
  }

  #see(lease: V1Lease): void {
    this.#seen = lease
    this.#seenAt = performance.now()
  }

  #spec(before: V1Lease | undefined): V1LeaseSpec {
    const { holderIdentity, acquireTime, leaseTransitions = 0 } = before?.spec ?? {}
    const renewTime = new V1MicroTime()
    const isMine = holderIdentity === this.#identity
    return {
      holderIdentity: this.#identity,
      leaseDurationSeconds: leaseSeconds,
      acquireTime: isMine && acquireTime !== undefined ? acquireTime : renewTime,
      renewTime,
      leaseTransitions: isMine || before === undefined ? leaseTransitions : leaseTransitions + 1,
    }
  }
}
