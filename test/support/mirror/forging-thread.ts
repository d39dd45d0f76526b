/** A thread that has gone wrong: it sends the messages that it is given, and then that it is
 *  ready. */

import { parentPort, workerData } from 'node:worker_threads'
import type { WorkerData } from '../../../lib/workers/process/worker-messages.ts'

const { program } = workerData as WorkerData
for (const message of program as unknown[]) parentPort?.postMessage(message)
parentPort?.postMessage({ type: 'ready' })
parentPort?.on('message', () => {})
