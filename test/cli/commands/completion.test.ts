import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { controllerNames } from '../../../lib/simulator/simulation/controller-names.ts'
import { commands } from '../../../lib/cli/commands/commands.ts'
import { completionScript, shells } from '../../../lib/cli/commands/completion.ts'

/** The words that bash offers after these. */
function offered(file: string, ...words: string[]): string[] {
  const script = `source "$0"; COMP_WORDS=(watchglass "$@"); COMP_CWORD=$#; _watchglass; printf '%s\\n' "\${COMPREPLY[@]}"`
  const text = execFileSync('bash', ['-c', script, file, ...words], { encoding: 'utf8' })
  return text.split('\n').filter(line => line !== '')
}

t.test('bash completes commands, options and values', async t => {
  const file = join(t.testdir(), 'completion.bash')
  writeFileSync(file, completionScript('bash'))
  t.strictSame(offered(file, 'se'), ['serve'])
  t.strictSame(offered(file, 'serve', '--upstream-t'), [
    '--upstream-token-file',
    '--upstream-timeout',
  ])
  t.strictSame(offered(file, 'serve', '--log-level', 'w'), ['warn'])
  t.strictSame(offered(file, 'serve', '--log-level', '=', 'w'), ['warn'], 'as bash splits it')
  t.equal(offered(file, 'serve', '--log-level', '=').length, 4)
  t.ok(offered(file, 'serve', '--tls-cert', 'packag').includes('package.json'))
  t.strictSame(offered(file, 'serve', '--seed', ''), [], 'any number')
  t.strictSame(offered(file, 'serve', '--simulate', ''), ['all', ...controllerNames])
  t.ok(offered(file, 'serve', '--stages', 'packag').includes('package.json'))
  t.strictSame(offered(file, 'completion', 'z'), ['zsh'])
  t.strictSame(offered(file, 'help', 're'), ['record'])
  const all = offered(file, 'serve', '--')
  for (const { name } of commands.serve.options) t.ok(all.includes(`--${name}`), name)
})

t.test('each shell reads its script, where it is installed', async t => {
  const folder = t.testdir()
  for (const shell of shells) {
    const text = completionScript(shell)
    for (const [name, { options }] of Object.entries(commands)) {
      t.ok(text.includes(name), `${shell}: ${name}`)
      for (const option of options) t.ok(text.includes(option.name), `${shell}: ${option.name}`)
    }
    const file = join(folder, shell)
    writeFileSync(file, text)
    const { error, status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' })
    if (error !== undefined) t.comment(`there is no ${shell} here`)
    else t.strictSame([status, stderr], [0, ''], shell)
  }
})
