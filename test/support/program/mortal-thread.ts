/** Imported into every thread of the program: a worker dies when the test says so, and the
 *  test is told of each that begins. */

import { BroadcastChannel, isMainThread, threadId } from 'node:worker_threads'

/** The test's message: the worker that is to die. */
export interface DeathMessage {
  readonly dies: number
}

/** The message to the test: a worker has begun. */
export interface BirthMessage {
  readonly born: number
}

const channel = new BroadcastChannel('mortal threads')

if (isMainThread) {
  process.on('message', message => channel.postMessage(message))
  process.channel?.unref()
  channel.onmessage = event => {
    const { data } = event as { data: BirthMessage | DeathMessage }
    if ('born' in data) process.send?.(data)
  }
} else {
  channel.onmessage = event => {
    const { data } = event as { data: BirthMessage | DeathMessage }
    if ('dies' in data && data.dies === threadId) setImmediate(die)
  }
  channel.postMessage({ born: threadId })
}
channel.unref()

function die(): void {
  throw new Error('the test wants this thread to die')
}
