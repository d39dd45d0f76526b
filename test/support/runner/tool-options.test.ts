import { spawnSync } from 'node:child_process'
import t from 'tap'

function run(tool: string, ...args: string[]): { status: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [`dist/${tool}`, ...args], {
    encoding: 'utf8',
  })
  return { status, out: stdout, err: stderr }
}

t.test('a tool of the project says how it is used', t => {
  const { status, out } = run('test/sim/run.js', '--help')
  t.equal(status, 0)
  t.match(out, /^usage: npm run simulate -- /)
  t.end()
})

t.test('and refuses what it cannot read, without a stack', t => {
  const unknown = run('test/sim/run.js', '--evnts', '5')
  t.equal(unknown.status, 2)
  t.match(unknown.err, /'--evnts'[^]*\nusage: npm run simulate -- /)
  const word = run('test/sim/run.js', '--events', 'many')
  t.equal(word.status, 2)
  t.match(word.err, /^--events takes a whole number, not "many"\nusage: /)
  t.end()
})
