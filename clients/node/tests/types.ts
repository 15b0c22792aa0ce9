// Compiled, never run: the declarations fit how the client is used.
import { AssayClient, AssayError, jsonReplacer, type AssayService, type Verdict } from '../src/index.js'
import { FakeAssay, valid } from '../src/fake.js'

export async function unlock(service: AssayService, token: string): Promise<string | undefined> {
  try {
    const { verdict, transaction } = await service.verify(
      token, { kind: 'TRANSACTION', expectations: { bundleId: 'com.example.game' } },
      { timeout: 2000, signal: new AbortController().signal, mayWait: true })
    const known: Verdict = verdict
    const price: bigint | undefined = transaction?.price
    return known === 'VALID' && price !== 0n ? transaction?.productId : undefined
  } catch (error) {
    if (error instanceof AssayError && error.retryable) return undefined
    throw error
  }
}

export const services: AssayService[] = [
  new AssayClient({ addresses: 'unix:/run/assay/assay.sock', tls: { authority: 'PEM' } }),
  new FakeAssay({ onVerify: () => valid({ productId: 'gold' }) }),
]

export async function owned(service: AssayService, transactionId: string): Promise<boolean> {
  try {
    const { environment, items, entitlements } = await service.fetch(
      transactionId, { lists: ['STATUSES'], at: 1n }, { app: 'game', timeout: 2000 })
    return environment === 'Production' && items.length > 0 && !entitlements.isStale
  } catch (error) {
    if (error instanceof AssayError && error.appStoreErrorCode === 4040010n) return false
    throw error
  }
}

export async function logged(service: AssayService, token: string, user: bigint): Promise<string> {
  const { transaction } = await service.verify(token, { kind: 'TRANSACTION' })
  return JSON.stringify({ ...transaction, user }, jsonReplacer)
}

// @ts-expect-error: a list that there is not
void services[0].fetch('1', { lists: ['REFUNDS'] })
// @ts-expect-error: a kind that there is not
void services[0].verify('token', { kind: 'TRANSACTON' })
// @ts-expect-error: a kind is required
void services[0].verify('token', {})
// @ts-expect-error: a lossy number
void services[0].resolve([], { at: 1 })
