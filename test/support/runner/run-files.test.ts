import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { patience } from '../patience.ts'
import { commandOf } from './plan.ts'
import { type FileResult, runJobs } from './run-files.ts'

/** Files with these contents, run in one process; what was counted of each, and what was shown. */
async function run(
  t: Test,
  ...contents: readonly string[]
): Promise<{ counts: [number, number][]; shown: string }> {
  return runWith(t, patience(), contents)
}

async function runWith(
  t: Test,
  patience: number,
  contents: readonly string[],
): Promise<{ counts: [number, number][]; shown: string }> {
  // In dist, where tap is found.
  const folder = mkdtempSync(join('dist', 'runner-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const files = contents.map((content, i) => {
    const file = join(folder, `${i}.js`)
    writeFileSync(file, `import t from 'tap'\n${content}`)
    return file
  })
  const results: FileResult[] = []
  let shown = ''
  await runJobs([{ files, command: commandOf(process.execPath, files) }], {
    atOnce: 1,
    onFile: result => results.push(result),
    machine: { patience },
    write: text => {
      shown += text
    },
  })
  return { counts: results.map(({ passed, failed }) => [passed, failed]), shown }
}

const passing = "t.test('a', async t => t.pass())\n"
const failing = "t.test('b', async t => t.fail('this is wrong'))\n"
const late = "setTimeout(() => { throw new Error('too late') }, 50)\n"
const rejecting = "setTimeout(() => { Promise.reject(new Error('nobody asked')) }, 50)\n"

t.test(
  'tests are counted, and what failed is shown with the command that runs it again',
  async t => {
    const { counts, shown } = await run(t, passing + passing + failing)
    t.strictSame(counts, [[2, 1]])
    t.match(shown, /this is wrong/)
    t.match(shown, /^# again: .*node --enable-source-maps dist\/runner-\S+\/0\.js$/m)
  },
)

t.test('files that share a process are counted apart', async t => {
  const { counts } = await run(t, passing + failing, passing, failing)
  t.strictSame(counts, [
    [1, 1],
    [1, 0],
    [0, 1],
  ])
})

t.test('a stack names lines of the sources', async t => {
  const far = "import { parseEndpoint } from '../lib/etcd/grpc/endpoints.js'\n"
  const failed = "t.test('c', async () => parseEndpoint('ftp://x', false))\n"
  const { shown } = await run(t, far + failed)
  t.match(shown, /parseEndpoint \(lib\/etcd\/grpc\/endpoints\.ts:\d+:\d+\)/)
})

t.test('what nobody catches is a failure, also after the last test', async t => {
  for (const fault of [late, rejecting]) {
    const { counts, shown } = await run(t, passing + fault)
    t.strictSame(counts, [[1, 1]], fault)
    t.match(shown, /too late|nobody asked/)
  }
  for (const files of [
    [passing, passing + late],
    [passing + late, `t.test('slow', async () => new Promise(done => setTimeout(done, 500)))\n`],
  ]) {
    const { counts } = await run(t, ...files)
    t.ok(
      counts.some(([, failed]) => failed > 0),
      'in a process with others, too',
    )
  }
})

t.test('a file that ends its process fails, and takes no other with it', async t => {
  const { counts, shown } = await run(t, passing, `${passing}process.exit(3)\n`, passing)
  t.strictSame(counts, [
    [1, 0],
    [0, 1],
    [1, 0],
  ])
  t.match(shown, /again by itself/)
})

t.test('a file whose process was ended by another is run again, and counted once', async t => {
  const mark = join('dist', `mark-${process.pid}`)
  t.teardown(() => rmSync(mark, { force: true }))
  const onlyOnce = `import { existsSync, writeFileSync } from 'node:fs'
    if (!existsSync('${mark}')) {
      writeFileSync('${mark}', '')
      process.exit(3)
    }\n`
  const { counts, shown } = await run(t, passing, onlyOnce + passing, passing)
  t.strictSame(counts, [
    [1, 0],
    [1, 0],
    [1, 0],
  ])
  t.match(shown, /a process has ended at/)
})

t.test('a process that goes on after its last file has failed, and says what keeps it', async t => {
  const open = 'setInterval(() => {}, 1000)\n'
  // A twentieth of the limits.
  const { counts, shown } = await runWith(t, 0.05 * patience(), [passing, passing + open])
  t.strictSame(counts, [
    [1, 0],
    [1, 0],
    [0, 1],
  ])
  t.match(shown, /still open: .*Timeout/)
})

t.test('a file that cannot be loaded is a failure', async t => {
  const { counts, shown } = await run(t, passing, "import './nowhere.js'\n")
  t.strictSame(counts, [
    [1, 0],
    [0, 1],
  ])
  t.match(shown, /cannot be loaded/)
})
