import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { programFlags } from '../support/program/program-flags.ts'

function watchglass(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [...programFlags(), '.', ...args], { encoding: 'utf8' })
}

t.test('--version prints the version of the package', async t => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  t.match(watchglass('--version'), { status: 0, stdout: `watchglass ${version}\n`, stderr: '' })
})

t.test('--help goes to standard output and says how to go on', async t => {
  const { status, stdout, stderr } = watchglass('--help')
  t.equal(status, 0)
  t.match(stdout, /^Watchglass: .*\n\nUsage: watchglass COMMAND/)
  t.equal(stderr, '')
})

t.test('a wrong command line is one line on standard error and exit code 2', async t => {
  t.match(watchglass('surve'), {
    status: 2,
    stdout: '',
    stderr:
      'watchglass: unknown command "surve": did you mean serve? Otherwise try "watchglass --help"\n',
  })
  t.match(watchglass(), {
    status: 2,
    stdout: '',
    stderr: 'watchglass: no command given; try "watchglass --help"\n',
  })
})

t.test('a command that is asked for something impossible says so in one line', async t => {
  t.match(watchglass('generate'), {
    status: 2,
    stderr: /^watchglass: say what to generate, such as pods=1000; .*\n$/,
  })
  t.match(watchglass('generate', 'widgets=3'), { status: 2, stderr: /unknown kind "widgets"/ })
  t.match(watchglass('generate', 'pods=3', '--prefix', 'registry'), {
    status: 2,
    stderr: /--prefix "registry" must begin with a slash/,
  })
  t.match(watchglass('serve', '--mirror', 'pods'), {
    status: 2,
    stderr: /^watchglass: --mirror needs --upstream without --etcd\n$/,
  })
  t.match(watchglass('generate', 'pods=3', '--seed', '-1'), {
    status: 2,
    stderr: /option --seed needs a value/,
  })
  t.match(watchglass('generate', 'pods=3', '--log-level', 'loud'), {
    status: 2,
    stderr: /--log-level "loud" is not debug, info, warn or error/,
  })
})
