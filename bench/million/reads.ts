/** The reads of a million objects by clients: pages, selections and whole lists, each beside
 *  somebody who asks for single objects. */

import { percentile } from '../bench.ts'
import { Http1Client } from '../list/http1-client.ts'
import type { Ceiling, Program } from '../list/processes.ts'
import type { TurnReport } from '../mirror/turns.ts'
import { appName } from './contents.ts'
import { turnsDuring } from './subject.ts'

const configMaps = '/api/v1/configmaps?resourceVersion=0'
const json = { accept: 'application/json' }

/** Some reads, and what the program did meanwhile. */
export interface ReadReport {
  readonly timesMs: readonly number[]
  readonly bytes: number
  readonly turns: TurnReport
}

async function timed(client: Http1Client, path: string): Promise<{ ms: number; bytes: number }> {
  const startMs = performance.now()
  const { status, bytes } = await client.get(path, json)
  if (status !== 200) throw new Error(`${path} is answered with ${status}`)
  return { ms: performance.now() - startMs, bytes }
}

/** So many pages of 500, one after the other, from the beginning. */
export async function readPages(program: Program, pages: number): Promise<ReadReport> {
  const client = await Http1Client.connect(program.port)
  const { result, turns } = await turnsDuring(program, async () => {
    const timesMs: number[] = []
    let bytes = 0
    let token: string | undefined = ''
    while (timesMs.length < pages && token !== undefined) {
      const path = `/api/v1/configmaps?limit=500&continue=${encodeURIComponent(token)}`
      const startMs = performance.now()
      const page = await client.get(path, json, true)
      timesMs.push(performance.now() - startMs)
      bytes += page.bytes
      const start = page.pieces[0]?.subarray(0, 2_000).toString() ?? ''
      token = /"continue":"([^"]+)"/.exec(start)?.[1]
    }
    return { timesMs, bytes }
  })
  client.close()
  return { ...result, turns }
}

/** Several clients who all select at once, each something else of the same label. */
export async function readSelections(
  program: Program,
  { atOnce, rounds, from }: { atOnce: number; rounds: number; from: number },
): Promise<ReadReport> {
  const clients = await Promise.all(
    Array.from({ length: atOnce }, () => Http1Client.connect(program.port)),
  )
  const { result, turns } = await turnsDuring(program, async () => {
    const timesMs: number[] = []
    let bytes = 0
    for (let round = 0; round < rounds; round++) {
      const answers = clients.map((client, i) =>
        timed(client, `${configMaps}&labelSelector=app%3D${appName(from + round * atOnce + i)}`),
      )
      for (const answer of await Promise.all(answers)) {
        timesMs.push(answer.ms)
        bytes += answer.bytes
      }
    }
    return { timesMs, bytes }
  })
  for (const client of clients) client.close()
  return { ...result, turns }
}

export interface ListReport extends ReadReport {
  /** A get of somebody else meanwhile. */
  readonly bystanderP99Ms: number
  readonly bystanderMaxMs: number
}

/** Everything, one list after the other. */
export async function readWhole(
  program: Program,
  lists: number,
  aPath: string,
): Promise<ListReport> {
  const client = await Http1Client.connect(program.port)
  const bystander = await Http1Client.connect(program.port)
  const waitsMs: number[] = []
  const { result, turns } = await turnsDuring(program, async () => {
    let isOver = false
    const standBy = async (): Promise<void> => {
      while (!isOver) {
        waitsMs.push((await timed(bystander, aPath)).ms)
        await new Promise(resolve => setTimeout(resolve, 5))
      }
    }
    const standing = standBy()
    const timesMs: number[] = []
    let bytes = 0
    for (let i = 0; i < lists; i++) {
      const list = await timed(client, configMaps)
      timesMs.push(list.ms)
      bytes = list.bytes
    }
    isOver = true
    await standing
    return { timesMs, bytes }
  })
  client.close()
  bystander.close()
  return {
    ...result,
    turns,
    bystanderP99Ms: percentile(waitsMs, 0.99),
    bystanderMaxMs: Math.max(...waitsMs),
  }
}

/** A bare server that writes as many bytes. */
export async function readCeiling(
  ceiling: Ceiling,
  { bytes, lists }: { readonly bytes: number; readonly lists: number },
): Promise<readonly number[]> {
  await ceiling.repeat({ path: '/all', bytes, pieceBytes: 64 * 1024 })
  const client = await Http1Client.connect(ceiling.port)
  const timesMs: number[] = []
  for (let i = 0; i < lists; i++) timesMs.push((await timed(client, '/all')).ms)
  client.close()
  return timesMs
}
