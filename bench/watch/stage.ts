/** Everything that a scenario needs, started once: an etcd with pods, the measured server, the
 *  ceiling, and the clients. */

import type { Child } from './child.ts'
import type {
  ChangeOrder,
  ChangeReport,
  CopyReport,
  CountReport,
  DownloadReport,
  UsageReport,
} from './orders.ts'
import { type Started, startChild } from './processes.ts'

export type HttpVersion = '1.1' | '2'

/** The way that a watch is asked for. */
export type WatchShape = HttpVersion | 'WebSocket'

/** One of the two that are compared. */
export interface Subject {
  readonly name: 'ours' | 'ceiling'
  readonly port: number
  readonly child: Child
  /** Who makes the changes that it tells of. */
  readonly changer: Child
}

export class Stage {
  readonly ours: Subject
  readonly ceiling: Subject
  readonly #children: readonly Child[]
  readonly #watchers: Child
  readonly #bystanders: Child
  /** Time after which a steady load is measured. */
  readonly #settleMs: number

  private constructor(
    started: readonly [Started, Started, Started, Started, Started],
    settleMs: number,
  ) {
    this.#settleMs = settleMs
    const [source, server, ceiling, watchers, bystanders] = started
    this.#children = started.map(({ child }) => child)
    this.#watchers = watchers.child
    this.#bystanders = bystanders.child
    const port = Number(server.hello)
    this.ours = { name: 'ours', port, child: server.child, changer: source.child }
    this.ceiling = {
      name: 'ceiling',
      port: Number(ceiling.hello),
      child: ceiling.child,
      changer: ceiling.child,
    }
  }

  static async start(pods: number, settleMs = 500): Promise<Stage> {
    const source = await startChild('source', 'others', [String(pods)])
    const server = await startChild('server', 'alone', [String(source.hello)])
    const ceiling = await startChild('ceiling', 'alone')
    const watchers = await startChild('watchers', 'others')
    const bystanders = await startChild('watchers', 'others')
    return new Stage([source, server, ceiling, watchers, bystanders], settleMs)
  }

  async stop(): Promise<void> {
    for (const child of this.#children.toReversed()) await child.stop()
  }

  /** Opens watchers, one for each path. The name is theirs at both subjects. */
  async open(subject: Subject, version: WatchShape, paths: readonly string[]): Promise<void> {
    const { name, port } = subject
    await this.#watchers.ask({ type: 'open', name, port, version, paths })
  }

  async close(subject: Subject): Promise<void> {
    await this.#watchers.ask({ type: 'close', name: subject.name })
  }

  /** Opens watchers of our server who read no more than so much, does something, and reports how
   *  many of them have ended. */
  async besideSlow<T>(
    paths: readonly string[],
    bytesPerSecond: number,
    doing: () => Promise<T>,
  ): Promise<{ readonly result: T; readonly ended: number }> {
    const name = 'slow'
    const { port } = this.ours
    const slow = this.#bystanders
    await slow.ask({ type: 'open', name, port, version: '1.1', paths, bytesPerSecond })
    const result = await doing()
    const { ended } = await slow.ask<CountReport>({ type: 'count', name, ms: 1 })
    await slow.ask({ type: 'close', name })
    return { result, ended }
  }

  /** Counts what comes while something happens, once that has been going on for a moment. */
  async count(subject: Subject, ms: number, doing: Promise<unknown>): Promise<CountReport> {
    await sleep(this.#settleMs)
    const report = await this.#watchers.ask<CountReport>({ type: 'count', name: subject.name, ms })
    await doing
    return report
  }

  /** Makes changes at a rate, and reports their outcome and their cost on the subject's
   *  processor. */
  async change(
    subject: Subject,
    order: Omit<ChangeOrder, 'type'>,
  ): Promise<CountReport & { readonly cpuSeconds: number; readonly changes: number }> {
    const before = await this.usage(subject)
    const whole = { type: 'change', ...order, ms: order.ms + 2 * this.#settleMs }
    const changing = subject.changer.ask<ChangeReport>(whole)
    const report = await this.count(subject, order.ms, changing)
    const { changes } = await changing
    const { cpuSeconds } = await this.usage(subject)
    return { ...report, changes, cpuSeconds: cpuSeconds - before.cpuSeconds }
  }

  /** Floods the ceiling, to see the most that it carries. */
  async flood(ms: number): Promise<CountReport & { readonly changes: number }> {
    const order = { type: 'flood', ms: ms + 2 * this.#settleMs }
    const flooding = this.ceiling.child.ask<ChangeReport>(order)
    const report = await this.count(this.ceiling, ms, flooding)
    return { ...report, ...(await flooding) }
  }

  /** Runs a task, and reports its cost on the subject's processor, until all that it has brought
   *  about has been read. */
  async costOf<T>(subject: Subject, task: () => Promise<T>): Promise<readonly [T, number]> {
    const before = await this.usage(subject)
    const result = await task()
    await this.quiet(subject)
    const after = await this.usage(subject)
    return [result, after.cpuSeconds - before.cpuSeconds]
  }

  /** Waits until whoever has fallen behind has caught up. */
  async quiet(subject: Subject): Promise<void> {
    for (;;) {
      const { events } = await this.#watchers.ask<CountReport>({
        type: 'count',
        name: subject.name,
        ms: Math.min(this.#settleMs, 300),
      })
      if (events === 0) return
    }
  }

  copy(path: string): Promise<CopyReport> {
    const order = { type: 'copy', port: this.ours.port, path }
    return this.ceiling.child.ask<CopyReport>(order)
  }

  download(
    { port }: Subject,
    path: string,
    { streams, bytes }: { readonly streams: number; readonly bytes: number },
  ): Promise<DownloadReport> {
    return this.#watchers.ask<DownloadReport>({ type: 'download', port, path, streams, bytes })
  }

  /** The lag of a few who watch our server while something happens, at some changes a second. */
  async bystand(path: string, ms: number, doing: () => Promise<unknown>): Promise<CountReport> {
    const name = 'bystanders'
    const { port } = this.ours
    const paths = Array.from({ length: 10 }, () => path)
    await this.#bystanders.ask({ type: 'open', name, port, version: '1.1', paths })
    const changing: Promise<unknown> = this.ours.changer.ask({
      type: 'change',
      perSecond: 50,
      ms,
      toldTo: 'all',
      pods: 10,
    })
    const counting = this.#bystanders.ask<CountReport>({ type: 'count', name, ms })
    const done = doing()
    const report = await counting
    await Promise.all([done, changing])
    await this.#bystanders.ask({ type: 'close', name })
    return report
  }

  usage({ child }: Subject, isSettled = false): Promise<UsageReport> {
    return child.ask<UsageReport>({ type: 'usage', isSettled })
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise(resolve => {
    setTimeout(resolve, ms)
  })
}
