/** Imported first by the processes of tests: tells the runner at the end what they took of the
 *  processors. */

import { writeSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { processorComment } from './processor-time.ts'

if (isMainThread) process.on('exit', () => writeSync(1, `# ${processorComment()}\n`))
