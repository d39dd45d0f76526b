import { readFileSync } from 'node:fs'
import t from 'tap'
import { commands } from '../lib/config/commands.ts'
import { withOptions } from './support/program/readme-options.ts'

const readme = readFileSync('README.md', 'utf8')

t.test('README has the options of the program', async t => {
  t.equal(readme, withOptions(readme), 'node dist/test/support/program/write-readme.js writes them')
  for (const { name } of commands.serve.options) t.ok(readme.includes(`--${name}`), name)
})

t.test('README names scripts that exist', async t => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    scripts: Record<string, string>
  }
  t.match(readme, /npm ci && npm start/)
  t.ok(scripts['start'])
})
