/** Threads that accept from one socket, each as an object with the same memory. Waiting is what the other threads do meanwhile. */

import { EventEmitter } from 'node:events'
import type { Server } from 'node:net'
import t from 'tap'
import { Accepts, createAcceptsMemory, forgetAccepts } from '../../../../lib/http/server/accepts.ts'

interface Thread {
  readonly server: EventEmitter
  readonly open: EventEmitter[]
}

class Threads {
  readonly memory: SharedArrayBuffer
  readonly threads: readonly Thread[]
  nowMs = 0
  waits = 0
  /** What happens while a thread waits. */
  meanwhile: () => 'ok' | 'timed-out' = () => 'timed-out'

  constructor(count: number) {
    this.memory = createAcceptsMemory(count)
    this.threads = Array.from({ length: count }, () => ({ server: new EventEmitter(), open: [] }))
  }

  listen(thread: number): void {
    const clock = { monotonicMs: () => this.nowMs }
    const wait = ((): string => {
      this.waits++
      return this.meanwhile()
    }) as typeof Atomics.wait
    const accepts = new Accepts({ memory: this.memory, thread, clock, wait })
    accepts.follow(this.threads[thread]!.server as Server)
  }

  accept(thread: number): void {
    const { server, open } = this.threads[thread]!
    const socket = new EventEmitter()
    open.push(socket)
    server.emit('connection', socket)
  }
}

t.test('threads take turns at connections that come at once', async t => {
  const world = new Threads(3)
  for (const thread of [0, 1, 2]) world.listen(thread)
  let left = 60
  let next = 0
  world.meanwhile = () => {
    if (left === 0) return 'timed-out'
    left--
    next = (next % 2) + 1
    world.accept(next)
    return 'ok'
  }
  while (left > 0) {
    left--
    world.accept(0)
  }
  for (const { open } of world.threads) t.ok(open.length >= 15, `${open.length} of 60`)
})

t.test('a thread does not wait for connections that come one by one', async t => {
  const world = new Threads(2)
  for (const thread of [0, 1]) world.listen(thread)
  for (let i = 0; i < 10; i++) {
    world.nowMs += 5
    world.accept(0)
  }
  t.equal(world.waits, 0)
})

t.test('a thread that has waited for nothing does not wait again soon', async t => {
  const world = new Threads(2)
  for (const thread of [0, 1]) world.listen(thread)
  for (let i = 0; i < 100; i++) world.accept(0)
  t.equal(world.waits, 1)
  world.nowMs += 20
  for (let i = 0; i < 100; i++) world.accept(0)
  t.equal(world.waits, 2)
})

t.test('nobody waits for a thread that is as far, does not listen, or has died', async t => {
  const world = new Threads(3)
  world.listen(0)
  for (let i = 0; i < 10; i++) world.accept(0)
  t.equal(world.waits, 0, 'no other listens yet')
  world.listen(1)
  for (let i = 0; i < 10; i++) world.accept(1)
  for (let i = 0; i < 9; i++) world.threads[0]!.open.pop()!.emit('close')
  world.accept(0)
  t.equal(world.waits, 0, 'its connections are closed')
  forgetAccepts(world.memory, 1)
  for (let i = 0; i < 10; i++) world.accept(0)
  t.equal(world.waits, 0)
})
