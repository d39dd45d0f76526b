import t from 'tap'
import { readFileSync } from 'node:fs'
import { holdingsText, type ToTry, tryLines } from '../../../lib/cli/commands/introduction.ts'

const trial: ToTry = {
  address: 'http://127.0.0.1:8001',
  isGuarded: false,
  isApiServer: true,
  hasPods: true,
  takesWrites: true,
  runsDeployments: true,
}

/** The lines without what stands before the command. */
function commandsOf(server: Partial<ToTry>): string[] {
  return tryLines({ ...trial, ...server }).map(line => line.slice(9))
}

t.test('npm start says the commands that README.md lists', async t => {
  const [, block = ''] =
    /It prints its address[^`]*```sh\n([^`]+)```/.exec(readFileSync('README.md', 'utf8')) ?? []
  t.same(commandsOf({}), block.trim().split('\n'))
  t.same(
    tryLines(trial).map(line => line.slice(0, 9).trim()),
    ['first', 'then', '', '', '', ''],
  )
})

t.test('a server that has nothing yet is not asked for pods', async t => {
  const kubectl = 'kubectl --server http://127.0.0.1:8001'
  t.same(commandsOf({ hasPods: false, runsDeployments: false }), [
    `${kubectl} get namespaces`,
    `${kubectl} create configmap demo --from-literal color=blue`,
  ])
  t.same(commandsOf({ hasPods: false, takesWrites: false }), [`${kubectl} get namespaces`])
})

t.test('kubectl is not advised where it would send no token', async t => {
  const [first, then] = commandsOf({ isGuarded: true })
  t.match(first, /^curl -H 'Authorization: Bearer TOKEN' /)
  t.match(then, /^--listen https/)
  const [overTls = ''] = commandsOf({ isGuarded: true, address: 'https://127.0.0.1:8443' })
  t.match(overTls, '--insecure-skip-tls-verify --token TOKEN get pods')
  t.same(commandsOf({ isApiServer: false }), ['curl http://127.0.0.1:8001/apis'])
})

t.test('of one object the name of one is said', async t => {
  const holding = { name: 'services', singular: 'service' }
  t.equal(holdingsText([]), 'nothing yet')
  t.equal(holdingsText([{ ...holding, count: 1 }]), '1 service')
  t.equal(
    holdingsText(Array.from({ length: 7 }, () => ({ ...holding, count: 2 }))),
    `${'2 services, '.repeat(6)}1 more kind`,
  )
})
