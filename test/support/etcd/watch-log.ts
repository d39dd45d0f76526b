/** A watch stream of which everything is kept, in order, for tests that say what must come. */

import type { ClientDuplexStream, ServiceError } from '@grpc/grpc-js'
import type { Message, RawEtcd } from './raw-etcd.ts'

export interface LoggedEvent {
  readonly watch: string
  readonly type: 'put' | 'delete'
  readonly key: string
  readonly revision: number
}

export class WatchLog {
  readonly responses: Message[] = []
  failure: Partial<ServiceError> | undefined
  readonly #stream: ClientDuplexStream<Message, Message>
  #wake: (() => void)[] = []

  constructor(server: RawEtcd, metadata: Readonly<Record<string, string>> = {}) {
    this.#stream = server.stream('Watch', 'Watch', metadata)
    this.#stream.on('data', (message: Message) => {
      this.responses.push(message)
      this.#changed()
    })
    this.#stream.on('error', (error: Partial<ServiceError>) => {
      this.failure = error
      this.#changed()
    })
  }

  send(request: Message): void {
    this.#stream.write(request)
  }

  /** Creates a watcher, and waits until it is. */
  async create(request: Message): Promise<Message> {
    const created = (): Message[] => this.responses.filter(one => one['created'] === true)
    const before = created().length
    this.send({ createRequest: request })
    await this.until(() => created().length > before)
    return created().at(-1)!
  }

  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    this.#stream.resume()
  }

  get events(): LoggedEvent[] {
    return this.responses.flatMap(response => {
      const events = (response['events'] ?? []) as { type?: string; kv: Record<string, string> }[]
      return events.map(({ type, kv }) => ({
        watch: (response['watchId'] as string | undefined) ?? '0',
        type: type === undefined || String(type) === '0' ? ('put' as const) : ('delete' as const),
        key: Buffer.from(kv['key'] ?? '', 'base64').toString('latin1'),
        revision: Number(kv['modRevision']),
      }))
    })
  }

  /** The revision of the newest progress that was told to the whole stream. */
  get progress(): number {
    const marks = this.responses.filter(one => one['watchId'] === '-1' && one['created'] !== true)
    const header = marks.at(-1)?.['header'] as { revision?: string } | undefined
    return Number(header?.revision ?? 0)
  }

  /** Waits for a condition that what has come fulfils. */
  async until(isMet: () => boolean): Promise<void> {
    while (!isMet()) {
      if (this.failure !== undefined) throw new Error(`the watch ended: ${this.failure.details}`)
      await new Promise<void>(resolve => this.#wake.push(resolve))
    }
  }

  async untilFailed(): Promise<Partial<ServiceError>> {
    while (this.failure === undefined) {
      await new Promise<void>(resolve => this.#wake.push(resolve))
    }
    return this.failure
  }

  close(): void {
    this.#stream.removeAllListeners()
    this.#stream.on('error', () => undefined)
    this.#stream.cancel()
  }

  #changed(): void {
    for (const wake of this.#wake.splice(0)) wake()
  }
}
