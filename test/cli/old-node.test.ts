import { readFileSync } from 'node:fs'
import t from 'tap'
import { oldNodeProblem } from '../../lib/cli/old-node.ts'

t.test('a Node that is too old is told in one line', async t => {
  t.equal(
    oldNodeProblem('v18.20.4', '/usr/bin/node'),
    'needs Node 20.18.1 or newer, and this is v18.20.4 (/usr/bin/node); Node 24 is recommended',
  )
  for (const version of ['v20.18.0', 'v20.9.2', 'v0.10.1']) t.ok(oldNodeProblem(version, 'n'))
  for (const version of ['v20.18.1', 'v20.19.0', 'v22.0.0', 'v26.1.0-nightly']) {
    t.equal(oldNodeProblem(version, 'n'), undefined, version)
  }
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    engines: { node: string }
  }
  t.equal(oldNodeProblem(`v${engines.node.slice(2)}`, 'n'), undefined, 'engines says the same')
  t.match(oldNodeProblem('v18.0.0', 'n'), engines.node.slice(2))
})

t.test('what begins the program links nothing that an old Node lacks', async t => {
  const bundle = readFileSync('dist/program/cli.js', 'utf8')
  t.notMatch(bundle, /^import\b(?!\()/m, 'everything else is loaded after the look')
  t.match(bundle, /await import\("\.\/main\.js"\)/)
})
