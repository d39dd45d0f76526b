/** A bare server with one thread or several, with nothing of ours: the control that says how much
 *  two threads are worth on this machine. It answers each path with the bytes with which a measured
 *  program answered it, and `/flood?bytes=N` with frames of that size as fast as they are taken.
 *  Several threads are workers, each with a socket of its own on one port: as workers
 *  have. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, RequestListener } from 'node:http'
import * as http from 'node:http'
import * as https from 'node:https'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { nodeForThreads } from '../../test/support/runner/other-node.ts'
import { certificate } from '../list/certificate.ts'
import { copyBodies, type CopyOrder } from '../list/copied-bodies.ts'
import { answerOrders, Child } from '../watch/child.ts'

/** The bench's end of it. */
export class BareServer {
  readonly port: number
  readonly process: { readonly pid: number }
  readonly #child: Child

  private constructor(child: Child, port: number) {
    this.#child = child
    this.port = port
    this.process = { pid: child.pid }
  }

  static async start(threads: number, scheme: 'http' | 'https' = 'https'): Promise<BareServer> {
    // The Node of the programs beside it.
    const options = { execPath: nodeForThreads(), stdio: 'inherit' as const }
    const forked = fork(fileURLToPath(import.meta.url), [String(threads), scheme], options)
    const child = new Child(forked)
    return new BareServer(child, (await child.message()) as number)
  }

  /** From now on it answers as that server does now. */
  async copy(order: CopyOrder): Promise<void> {
    await this.#child.ask(order)
  }

  stop(): Promise<void> {
    return this.#child.stop()
  }
}

interface ThreadStart {
  readonly port: number
  readonly scheme: string
  readonly isShared: boolean
}

type Bodies = ReadonlyMap<string, Uint8Array>

let bodies: Bodies = new Map()

async function listen({ port, scheme, isShared }: ThreadStart): Promise<number> {
  const tls = { cert: readFileSync(certificate.cert), key: readFileSync(certificate.key) }
  const server = scheme === 'https' ? https.createServer(tls, answer) : http.createServer(answer)
  server.listen({ port, host: '127.0.0.1', reusePort: isShared })
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const answer: RequestListener = (request: IncomingMessage, response) => {
  const url = request.url ?? ''
  const bytes = /^\/flood\?bytes=(\d+)$/.exec(url)?.[1]
  if (bytes !== undefined) {
    flood(response, Buffer.alloc(Number(bytes), 'a frame '))
    return
  }
  const body = bodies.get(url)
  response.writeHead(body === undefined ? 404 : 200, { 'content-length': body?.length ?? 0 })
  response.end(body)
}

function flood(response: Parameters<RequestListener>[1], frame: Buffer): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  const go = (): void => {
    if (response.destroyed) return
    if (response.write(frame)) setImmediate(go)
    else response.once('drain', go)
  }
  go()
}

async function copied(order: CopyOrder): Promise<Bodies> {
  const pieces = new Map<string, readonly Buffer[]>()
  await copyBodies(pieces, order)
  return new Map([...pieces].map(([path, each]) => [path, Buffer.concat(each)]))
}

async function runProcess(threads: number, scheme: string): Promise<void> {
  const workers: Worker[] = []
  let port = 0
  if (threads === 1) port = await listen({ port, scheme, isShared: false })
  while (threads > 1 && workers.length < threads) {
    const start: ThreadStart = { port, scheme, isShared: true }
    const worker = new Worker(new URL(import.meta.url), { workerData: start })
    ;[port] = (await once(worker, 'message')) as [number]
    workers.push(worker)
  }
  answerOrders(async (order: CopyOrder) => {
    bodies = await copied(order)
    for (const worker of workers) {
      worker.postMessage(bodies)
      await once(worker, 'message')
    }
  })
  process.send?.(port)
}

async function runThread(start: ThreadStart): Promise<void> {
  const port = await listen(start)
  parentPort?.on('message', (given: Bodies) => {
    bodies = given
    parentPort?.postMessage('ready')
  })
  parentPort?.postMessage(port)
}

if (!isMainThread) await runThread(workerData as ThreadStart)
else if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await runProcess(Number(process.argv[2]), process.argv[3] ?? 'https')
}
