local words = { limit = 100 }

function words.count(text)
  local count = 0
  for _ in text:gmatch("%S+") do
    count = count + 1
  end
  return count
end

return words
