import type * as Package from '@pydantic/genai-prices'

/** The package of prices that comes with Baton. */
export const bundledPrices = { name: '@pydantic/genai-prices', version: '0.1.8' } as const

export type ConditionalPrice = Package.ConditionalPrice
export type MatchLogic = Package.MatchLogic
export type ModelInfo = Package.ModelInfo
export type ModelPrice = Package.ModelPrice
export type PriceCalculation = Package.PriceCalculation
export type PriceProvider = Package.Provider

export interface PricePackage {
  readonly calcPrice: typeof Package.calcPrice
  /** Its table. */
  readonly providers: readonly PriceProvider[]
}

/** Loads the package, which is large. It fetches nothing. */
export async function loadPricePackage(): Promise<PricePackage> {
  const { calcPrice, waitForUpdate } = await import('@pydantic/genai-prices')
  return { calcPrice, providers: (await waitForUpdate()) ?? [] }
}
