/** A process that runs several test files one after the other: `node
 *  dist/test/support/runner/batch.js FILE...`. The start of Node, tap and the tables of the codec
 *  is then paid once. After the points of a file comes one with the file's name. */

import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { processorComment } from './processor-time.ts'

// Tap names the folders of tests after the command line, which would be too long with all files.
const files = process.argv.splice(1).slice(1)
process.argv.push(files[0] ?? '')
const { default: t } = await import('tap')

// Tap ends when nothing is left to wait for, which is so while a file waits for nothing but
// promises.
const hold = setInterval(() => {}, 1000)

// What a file starts for all of its tests ends with the file. Tap's own teardown would wait for the
// last file, and lets tap end as soon as it is idle.
const teardowns: (() => unknown)[] = []
t.teardown = task => {
  teardowns.push(task as () => unknown)
}

// The runner ends what does not end by itself.
process.once('SIGTERM', () => {
  writeSync(2, `still open: ${process.getActiveResourcesInfo().join(', ')}\n`)
  process.exit(1)
})

for (const file of files) {
  try {
    await import(pathToFileURL(file).href)
  } catch (error) {
    t.fail(`${file} cannot be loaded: ${error instanceof Error ? error.stack : String(error)}`)
  }
  await t.test(file, async t => {
    t.pass('all of its tests have ended')
    t.comment(processorComment())
  })
  for (const task of teardowns.splice(0).reverse()) await task()
}
clearInterval(hold)
