/** A process whose requests cost it little: it sends some at once on each connection, and only counts the bytes that come back, since it knows
 *  from the start how long each answer is. So a processor that it shares with the server is mostly the server's. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'

export interface PipeliningOrder {
  readonly port: number
  /** Asked in turn. Their answers have a length, which does not change. */
  readonly paths: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly connections: number
  /** As many requests are sent at once. */
  readonly atOnce: number
  readonly ms: number
}

export interface PipeliningReport {
  readonly requests: number
  readonly seconds: number
  /** Of the processor, by this process. */
  readonly cpuSeconds: number
}

export class PipeliningLoad {
  readonly #child = fork(fileURLToPath(import.meta.url), { stdio: 'inherit' })

  async run(order: PipeliningOrder): Promise<PipeliningReport> {
    this.#child.send(order)
    const [report] = (await once(this.#child, 'message')) as [PipeliningReport]
    return report
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit')
    this.#child.disconnect()
    await exited
  }
}

/** Counts bytes up to a wanted number. */
class Pipe {
  readonly #socket: TLSSocket
  #left = 0
  #onAll: () => void = () => {}
  #onFailure: (error: Error) => void = () => {}
  /** Of an answer whose length is not known yet. */
  #head = ''
  #isLearning = false

  private constructor(socket: TLSSocket) {
    this.#socket = socket
    socket.on('data', (bytes: Buffer) => this.#take(bytes))
    socket.on('error', error => this.#onFailure(error))
    socket.on('close', () => this.#onFailure(new Error('the server has closed the connection')))
  }

  static async open(port: number): Promise<Pipe> {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    socket.setNoDelay()
    return new Pipe(socket)
  }

  /** Sends requests; resolves when so many bytes have come. */
  ask(requests: string, answerBytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#onAll = resolve
      this.#onFailure = reject
      this.#left = answerBytes
      this.#socket.write(requests, 'latin1')
    })
  }

  /** Sends a request; how long its answer is. */
  async learn(request: string): Promise<number> {
    this.#isLearning = true
    this.#head = ''
    await this.ask(request, Infinity)
    this.#isLearning = false
    return lengthOf(this.#head)!
  }

  close(): void {
    this.#socket.removeAllListeners('close')
    this.#socket.destroy()
  }

  #take(bytes: Buffer): void {
    if (this.#isLearning) {
      this.#head += bytes.toString('latin1')
      if (lengthOf(this.#head) === this.#head.length) this.#onAll()
      return
    }
    this.#left -= bytes.length
    if (this.#left === 0) this.#onAll()
    else if (this.#left < 0) this.#onFailure(new Error('an answer has become longer'))
  }
}

function lengthOf(answer: string): number | undefined {
  const end = answer.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  if (!answer.startsWith('HTTP/1.1 200 ')) throw new Error(answer.slice(0, end))
  const length = /^content-length: *(\d+)/im.exec(answer.slice(0, end))?.[1]
  if (length === undefined) throw new Error('an answer says nothing of its length')
  return end + 4 + Number(length)
}

async function run(order: PipeliningOrder): Promise<PipeliningReport> {
  const { port, paths, headers, connections, atOnce, ms } = order
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const requests = paths.map(
    path => `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}\r\n`,
  )
  const pipes: Pipe[] = []
  // One after the other, so that several threads that accept get their parts.
  for (let i = 0; i < connections; i++) pipes.push(await Pipe.open(port))
  const lengths: number[] = []
  for (const request of requests) lengths.push(await pipes[0]!.learn(request))
  let turn = 0
  let answered = 0
  const cpuBefore = process.cpuUsage()
  const startMs = performance.now()
  await Promise.all(
    pipes.map(async pipe => {
      while (performance.now() - startMs < ms) {
        let text = ''
        let bytes = 0
        for (let i = 0; i < atOnce; i++) {
          const at = turn++ % requests.length
          text += requests[at]
          bytes += lengths[at]!
        }
        await pipe.ask(text, bytes)
        answered += atOnce
      }
    }),
  )
  const seconds = (performance.now() - startMs) / 1000
  const { user, system } = process.cpuUsage(cpuBefore)
  for (const pipe of pipes) pipe.close()
  return { requests: answered, seconds, cpuSeconds: (user + system) / 1e6 }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.on('message', (order: PipeliningOrder) => {
    void run(order).then(report => process.send?.(report))
  })
  process.on('disconnect', () => process.exit(0))
}
