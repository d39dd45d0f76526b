/** The cluster that the bench reads: pods, and writes that never rest, each stamped with its
 *  moment. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { ApiClient } from './api-client.ts'
import { nowMicroseconds, stampOf } from './orders.ts'

export const namespace = 'watchglass-bench'
export const podsPath = '/api/v1/pods'
const ownPods = `/api/v1/namespaces/${namespace}/pods`
/** Creations under way. */
const createsMax = 16
/** Writes under way: a server that is slower gets no more. */
const writesMax = 64
const stepMs = 5

/** Creates the pods that are not there yet, some 3 KB each as they are served. */
export async function createPods(client: ApiClient, pods: number): Promise<void> {
  await client.create('/api/v1/namespaces', { metadata: { name: namespace } })
  let next = 0
  const work = async (): Promise<void> => {
    while (next < pods) await client.create(ownPods, podOf(next++))
  }
  await Promise.all(Array.from({ length: createsMax }, work))
}

function podOf(i: number): object {
  const app = `app-${i % 200}`
  const environment = Array.from({ length: 10 }, (_, n) => ({
    name: `SETTING_${n}`,
    value: `the value of setting ${n} of ${app}`,
  }))
  const resources = { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `pod-${i}`,
      labels: { app, 'app.kubernetes.io/part-of': 'bench', 'pod-template-hash': '5d8c9f7b6' },
      annotations: { stamp: stampOf(0) },
    },
    spec: {
      automountServiceAccountToken: false,
      nodeName: `node-${i % 500}`,
      containers: [
        { name: 'main', image: `registry.example.com/${app}:1.2.3`, env: environment, resources },
        { name: 'sidecar', image: 'registry.example.com/sidecar:4.5.6', resources },
      ],
      tolerations: [{ key: 'dedicated', operator: 'Equal', value: app, effect: 'NoSchedule' }],
    },
  }
}

export class Churn {
  readonly #client: ApiClient
  readonly #pods: number
  readonly #perSecond: number
  #isOver = false
  #running: Promise<void> = Promise.resolve()
  #underWay = 0
  /** Writes that were answered. */
  written = 0

  constructor(client: ApiClient, pods: number, perSecond: number) {
    this.#client = client
    this.#pods = pods
    this.#perSecond = perSecond
  }

  start(): void {
    this.#isOver = false
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#running
  }

  async #run(): Promise<void> {
    const began = nowMicroseconds()
    let sent = 0
    while (!this.#isOver) {
      const due = ((nowMicroseconds() - began) / 1e6) * this.#perSecond
      for (; sent < due; sent++) {
        // What a server cannot take in time is left out, not made up for.
        if (this.#underWay < writesMax) void this.#write()
      }
      await sleep(stepMs)
    }
    while (this.#underWay > 0) await sleep(stepMs)
  }

  async #write(): Promise<void> {
    this.#underWay++
    const path = `${ownPods}/pod-${Math.floor(Math.random() * this.#pods)}`
    const body = { metadata: { annotations: { stamp: stampOf(nowMicroseconds()) } } }
    const type = 'application/merge-patch+json'
    try {
      const { status } = await this.#client.ask({ path, method: 'PATCH', body, type })
      if (status === 200) this.written++
    } finally {
      this.#underWay--
    }
  }
}
