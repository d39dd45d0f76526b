/** The pages for users say what the program says: messages, metrics, options, tests. */

import { existsSync, readFileSync, readdirSync } from 'node:fs'
import t from 'tap'
import { type CommandName, commands } from '../../lib/cli/commands/commands.ts'

const textOf = (file: string): string => readFileSync(file, 'utf8')

/** The cells of the tables below a heading, without the heads. */
function rowsBelow(text: string, heading: string): string[][] {
  const [, after = ''] = text.split(`\n## ${heading}\n`)
  const [section = ''] = after.split('\n## ')
  const rows = section.split('\n').filter(line => line.startsWith('| '))
  return rows
    .filter(row => !row.startsWith('| ---'))
    .slice(1)
    .map(row => row.split('|').map(cell => cell.trim()))
}

/** The sources, with texts that are written in several pieces joined, as they are about etcd. */
const sources = readdirSync('lib', { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.ts'))
  .map(name =>
    textOf(`lib/${name}`)
      .replaceAll(/['"] \+\n\s*['"]/g, '')
      .replaceAll('${called}', 'etcd'),
  )
  .join('\n')

t.test('messages that docs/TROUBLESHOOTING.md quotes are those of the program', async t => {
  const text = textOf('docs/TROUBLESHOOTING.md')
  const quoted = ['In a client', 'In the log'].flatMap(heading =>
    rowsBelow(text, heading).flatMap(([, said = '']) => /^`([^`]+)`/.exec(said)?.[1] ?? []),
  )
  t.ok(quoted.length > 20)
  for (const message of quoted) t.ok(sources.includes(message), message)
})

t.test('metrics and reasons that pages name exist', async t => {
  const metrics = textOf('docs/METRICS.md')
  for (const page of ['TROUBLESHOOTING', 'UPGRADE', 'ETCD', 'START']) {
    for (const [name] of textOf(`docs/${page}.md`).matchAll(/\bwatchglass_[a-z_]+/g)) {
      t.ok(metrics.includes(`\`${name}\``), `${page}: ${name}`)
    }
  }
  const proxy = textOf('docs/PROXY.md')
  const reasons = rowsBelow(textOf('docs/TROUBLESHOOTING.md'), 'In a header: why it passes')
  t.ok(reasons.length > 4)
  for (const [, reason = ''] of reasons) t.ok(proxy.includes(reason), reason)
})

t.test('each guarantee names tests that are there', async t => {
  const text = textOf('docs/GUARANTEES.md')
  const rows = text
    .split('\n')
    .filter(line => /^\| [A-Z`]/.test(line))
    .slice(1)
  t.ok(rows.length > 20)
  for (const row of rows) {
    const files = [...row.matchAll(/`(test\/[\w./-]+)`/g)].map(([, file = '']) => file)
    t.ok(files.length > 0, row)
    for (const file of files) t.ok(existsSync(file), file)
  }
})

t.test('commands of the pages have options that exist', async t => {
  const isCommand = (name: string): name is CommandName => name in commands
  for (const page of [
    'START',
    'TESTING',
    'TROUBLESHOOTING',
    'UPGRADE',
    'ETCD',
    'LOADTEST',
    'SIDECAR',
  ]) {
    const blocks = textOf(`docs/${page}.md`).matchAll(/```sh\n(.*?)```/gs)
    const lines = [...blocks].flatMap(([, block = '']) => block.replaceAll('\\\n', '').split('\n'))
    for (const line of lines) {
      const [, name = '', rest = ''] = /^(?:watchglass|node \.) ([a-z]+)(.*)/.exec(line) ?? []
      if (name === '') continue
      if (!isCommand(name)) throw new Error(`${page}: ${line}`)
      const known: readonly string[] = commands[name].options.map(option => option.name)
      const [own = ''] = rest.split(/ -- | #/)
      for (const [, option = ''] of own.matchAll(/ --([a-z-]+)/g)) {
        t.ok(known.includes(option), `${page}: ${name} --${option}`)
      }
    }
  }
})

t.test('docs/START.md has at most five commands for each kind of user', async t => {
  const sections = textOf('docs/START.md').split('\n## ').slice(1)
  t.equal(sections.length, 6)
  for (const section of sections) {
    const [, block = ''] = /```sh\n(.*?)```/s.exec(section) ?? []
    t.equal(block.trim().split('\n').length, 5, section.split('\n')[0] ?? '')
  }
})
