/** A thousand changes a second beside a million objects, to watchers of namespaces. */

import { keyFromText } from '../../lib/base/keys.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import type { Program } from '../list/processes.ts'
import type { TurnReport } from '../mirror/turns.ts'
import { atRate } from '../watch/at-rate.ts'
import { type CountReport, nowMicroseconds } from '../watch/orders.ts'
import { namespaceOf } from '../watch/pods.ts'
import { startChild } from '../watch/processes.ts'
import type { Contents } from './contents.ts'
import { turnsDuring } from './subject.ts'

export interface ChangesPlan {
  readonly endpoint: string
  readonly program: Program
  readonly contents: Contents
  readonly watchers: number
  readonly perSecond: number
  readonly ms: number
}

export interface ChangesReport {
  readonly changes: number
  readonly counted: CountReport
  readonly turns: TurnReport
}

const name = 'namespaces'
/** A machine that cannot keep up gets fewer writes, not ever more at once. */
const writingMax = 200
/** Until all watchers are there, and their code is compiled. */
const warmMs = 1_000

export async function measureChanges(plan: ChangesPlan): Promise<ChangesReport> {
  const { endpoint, program, contents, perSecond, ms } = plan
  const { stamped } = contents
  const { child: watchers } = await startChild('watchers', 'others')
  const client = new GrpcClient({ endpoints: [endpoint], timeouts: { answerMs: 60_000 } })
  const put = async (index: number): Promise<void> => {
    const pod = stamped[index % stamped.length]!
    const value = pod.value(nowMicroseconds())
    const success = [{ type: 'put' as const, key: keyFromText(pod.key), value }]
    await client.txn({ compares: [], success, failure: [] })
  }
  try {
    await watchers.ask({ type: 'open', name, port: program.port, version: '2', paths: paths(plan) })
    const { result, turns } = await turnsDuring(program, async () => {
      const writing = new Set<Promise<void>>()
      const write = (index: number): void => {
        if (writing.size >= writingMax) return
        const task: Promise<void> = put(index * 7).finally(() => writing.delete(task))
        writing.add(task)
        changes++
      }
      let changes = 0
      const changing = atRate(perSecond, ms + 2 * warmMs, write)
      await new Promise(resolve => setTimeout(resolve, warmMs))
      const counted = await watchers.ask<CountReport>({ type: 'count', name, ms })
      await changing
      await Promise.all(writing)
      return { counted, changes }
    })
    return { ...result, turns }
  } finally {
    await watchers.stop()
    await client.close()
  }
}

/** Each watches a namespace. */
function paths({ watchers, contents: { stamped } }: ChangesPlan): string[] {
  const fromNow = '&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&timeoutSeconds=3600'
  const namespaces = new Set(stamped.map((_, number) => namespaceOf(number)))
  const all = [...namespaces]
  return Array.from(
    { length: watchers },
    (_, i) => `/api/v1/namespaces/${all[i % all.length]}/pods?watch=1${fromNow}`,
  )
}
